package groth16

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"
)

// pointsOf turns the exponents of a key into points.
func pointsOf(t testing.TB, pk *ProvingKey) *ProvingKey {
	t.Helper()
	out := *pk
	out.Exponents = false
	for _, part := range []struct {
		section *Section
		group   Group
	}{{&out.PointsA, G1}, {&out.PointsB1, G1}, {&out.PointsB2, G2}, {&out.PointsC, G1}, {&out.PointsH, G1}} {
		points := make([]byte, part.section.Len()/ScalarSize*pk.Curve.PointSize(part.group))
		if err := Multiples(pk.Curve, part.group, part.section.Unchecked(), points); err != nil {
			t.Fatal(err)
		}
		*part.section = section(points)
	}
	return &out
}

// constraints are the maker's matrices, with the rows that bind the public wires.
func (m *maker) constraints() *Constraints {
	pk := &ProvingKey{Rows: len(m.a)}
	m.matrices(pk)
	c := &Constraints{Curve: m.curve, Vars: len(m.witness), Public: m.public, Rows: len(m.a), A: pk.A, B: pk.B, Coefficients: pk.Coefficients}
	for len(m.c) < len(m.a) {
		m.c = append(m.c, nil)
	}
	m.a = m.c
	m.matrices(pk)
	c.C, c.CoefficientsC = pk.A, pk.Coefficients
	return c
}

func TestSetupMakesKeysThatProve(t *testing.T) {
	for _, s := range []shape{
		{},
		{public: 1},
		{public: 2, private: 4, products: 4},
		{public: 3, private: 60, products: 90},
	} {
		for _, s.curve = range curves {
			for _, quotient := range []Quotient{OddCoset, Powers} {
				t.Run(fmt.Sprintf("%v/%d wires/%v", s.curve, 1+s.public+s.private+s.products, quotient), func(t *testing.T) {
					m := &maker{shape: s, t: t, rand: rand.New(rand.NewPCG(8, 0)), r: s.curve.ScalarModulus()}
					m.fill()
					pk, vk, err := Setup(context.Background(), m.constraints(), quotient)
					if err != nil {
						t.Fatal(err)
					}
					if err := pk.Check(); err != nil {
						t.Error(err)
					}
					if !vk.Forgeable() {
						t.Error("the key isn't marked as one that anyone can forge with")
					}
					made := &statement{pk: pointsOf(t, pk), vk: vk, witness: m.words()}
					if err := vk.Verify(prove(t, made, Input{}), made.public()); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

// Two setups of one circuit share no secret.
func TestSetupIsFresh(t *testing.T) {
	m := &maker{shape: shape{curve: BN254, private: 3, products: 3}, t: t, rand: rand.New(rand.NewPCG(8, 1)), r: BN254.ScalarModulus()}
	m.fill()
	c := m.constraints()
	var keys [2]*ProvingKey
	for i := range keys {
		var err error
		if keys[i], _, err = Setup(context.Background(), c, OddCoset); err != nil {
			t.Fatal(err)
		}
	}
	for name, parts := range map[string][2][]byte{
		"alpha": {keys[0].Alpha1, keys[1].Alpha1},
		"beta":  {keys[0].Beta1, keys[1].Beta1},
		"A":     {keys[0].PointsA.Unchecked(), keys[1].PointsA.Unchecked()},
		"H":     {keys[0].PointsH.Unchecked(), keys[1].PointsH.Unchecked()},
	} {
		if bytes.Equal(parts[0], parts[1]) {
			t.Errorf("both keys have the same %s", name)
		}
	}
}

func TestSetupRefusesBadConstraints(t *testing.T) {
	m := &maker{shape: shape{curve: BN254, public: 1, private: 1}, t: t, rand: rand.New(rand.NewPCG(8, 2)), r: BN254.ScalarModulus()}
	m.fill()
	good := m.constraints() // 3 wires, 2 constraints with one entry in each matrix, 2 rows for the public wires
	word := func(s Section, i int, value byte) Section {
		b := bytes.Clone(s.Unchecked())
		b[4*i] = value
		return section(b)
	}
	for want, change := range map[string]func(c *Constraints){
		"unknown curve 7": func(c *Constraints) { c.Curve = 7 },
		"3 public wires of 3, expected fewer than there are, and at most 268435456 of these": func(c *Constraints) { c.Public = 3 },
		"1 rows with 1 public wires, expected more rows than these, and at most 268435456":   func(c *Constraints) { c.Rows = 1 },
		"matrix B: 20, 4 and 8 bytes of starts, columns and values of 4 rows": func(c *Constraints) {
			c.B.Columns = section(c.B.Columns.Unchecked()[:4])
		},
		"matrix A: an entry outside the 3 wires and 2 coefficients": func(c *Constraints) { c.A.Columns = word(c.A.Columns, 0, 3) },
		"matrix B: an entry outside the 3 wires and 2 coefficients": func(c *Constraints) { c.B.Values = word(c.B.Values, 1, 2) },
		"matrix C: row 1: its entries are out of order":             func(c *Constraints) { c.C.Starts = word(c.C.Starts, 1, 200) },
		"matrix C: rows from entry 1 to 2, expected from 0 to 2":    func(c *Constraints) { c.C.Starts = word(c.C.Starts, 0, 1) },
	} {
		bad := *good
		change(&bad)
		if _, _, err := Setup(context.Background(), &bad, OddCoset); err == nil || err.Error() != "constraints: "+want {
			t.Errorf("error %v, expected constraints: %s", err, want)
		}
	}
	if _, _, err := Setup(context.Background(), good, 2); err == nil || err.Error() != "quotient(2), expected odd coset or powers" {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := Setup(ctx, good, OddCoset); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, expected %v", err, context.Canceled)
	}
	pk, _, err := Setup(context.Background(), good, OddCoset)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := NewProver(pk); err == nil || err.Error() != "proving key: exponents in place of points, which a prover on the CPU doesn't take" {
		t.Errorf("error %v", err)
	}
}

func TestMultiples(t *testing.T) {
	for _, c := range curves {
		r := c.ScalarModulus()
		random := rand.New(rand.NewPCG(8, 3))
		m := &maker{rand: random, r: r}
		scalars := []*big.Int{new(big.Int), big.NewInt(1), big.NewInt(2), new(big.Int).Sub(r, big.NewInt(1)), new(big.Int).Rsh(r, 1)}
		for range 300 {
			scalars = append(scalars, m.field())
		}
		for _, n := range []int{0, 1, 5, len(scalars)} {
			var words []byte
			for _, s := range scalars[:n] {
				words = append(words, littleEndian(s)...)
			}
			for group, want := range map[Group][]byte{G1: multiplesG1(c, scalars[:n]), G2: multiplesG2(c, scalars[:n])} {
				points := bytes.Repeat([]byte{1}, n*c.PointSize(group))
				if err := Multiples(c, group, words, points); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(points, want) {
					t.Errorf("%v: %d multiples in G%d are wrong", c, n, group)
				}
			}
		}
	}
}

package circuit

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/big"
	"runtime"
	"slices"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// dense is a matrix taken apart: rows of wires and canonical values.
type dense [][]denseTerm

type denseTerm struct {
	wire  int
	value *big.Int
}

func takeMatrix(t *testing.T, c *groth16.Constraints, m groth16.Matrix, coefficients groth16.Section) dense {
	t.Helper()
	r := c.Curve.ScalarModulus()
	inverse := new(big.Int).ModInverse(new(big.Int).Lsh(big.NewInt(1), 256), r)
	word := func(s groth16.Section, i int) int { return int(binary.LittleEndian.Uint32(s.Unchecked()[4*i:])) }
	rows := make(dense, c.Rows)
	for row := range rows {
		for i := word(m.Starts, row); i < word(m.Starts, row+1); i++ {
			value := bigOf(coefficients.Unchecked()[32*word(m.Values, i):][:32])
			rows[row] = append(rows[row], denseTerm{word(m.Columns, i), value.Mul(value, inverse).Mod(value, r)})
		}
	}
	return rows
}

func bigOf(littleEndian []byte) *big.Int {
	b := bytes.Clone(littleEndian)
	slices.Reverse(b)
	return new(big.Int).SetBytes(b)
}

func (rows dense) dot(row int, witness []byte, r *big.Int) *big.Int {
	sum := new(big.Int)
	for _, term := range rows[row] {
		sum.Add(sum, new(big.Int).Mul(term.value, bigOf(witness[32*term.wire:][:32])))
	}
	return sum.Mod(sum, r)
}

func mustMake(t testing.TB, s Synthetic) (*groth16.Constraints, []byte) {
	t.Helper()
	c, witness, err := s.Make(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return c, witness
}

func TestSyntheticWitnessSatisfies(t *testing.T) {
	for _, s := range []Synthetic{
		{Rows: 2},
		{Rows: 3, Public: 1, Zeros: 1},
		{Rows: 40, Public: 30, Ones: 1},
		{Rows: 200, Public: 1, Zeros: 0.4, Ones: 0.4},
		{Rows: blockRows + 100, Public: 5, Zeros: 0.1, Ones: 0.1, Seed: 7},
	} {
		for _, s.Curve = range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
			t.Run(fmt.Sprintf("%+v", s), func(t *testing.T) {
				c, witness := mustMake(t, s)
				r := s.Curve.ScalarModulus()
				if i, err := s.Curve.CheckScalars(witness); err != nil {
					t.Fatalf("value %d: %v", i, err)
				}
				if bigOf(witness[:32]).Cmp(big.NewInt(1)) != 0 {
					t.Error("the first value isn't 1")
				}
				matrices := [3]dense{takeMatrix(t, c, c.A, c.Coefficients), takeMatrix(t, c, c.B, c.Coefficients), takeMatrix(t, c, c.C, c.CoefficientsC)}
				for row := range c.Rows {
					a, b, product := matrices[0].dot(row, witness, r), matrices[1].dot(row, witness, r), matrices[2].dot(row, witness, r)
					if bound := row - (c.Rows - c.Public - 1); bound >= 0 {
						if terms := matrices[0][row]; len(terms) != 1 || terms[0].wire != bound || terms[0].value.Cmp(big.NewInt(1)) != 0 ||
							len(matrices[1][row])+len(matrices[2][row]) > 0 {
							t.Fatalf("row %d doesn't bind public wire %d and nothing else", row, bound)
						}
						continue
					}
					if a.Mul(a, b).Mod(a, r).Cmp(product) != 0 {
						t.Fatalf("the witness doesn't satisfy constraint %d", row)
					}
				}
			})
		}
	}
}

// What the documentation promises of wires and terms.
func TestSyntheticShares(t *testing.T) {
	const rows = 1 << 16
	c, witness := mustMake(t, Synthetic{Curve: groth16.BN254, Rows: rows, Public: 1, Zeros: 0.4, Ones: 0.3})
	var zeros, ones float64
	for wire := range rows {
		switch value := elementOf(witness[32*wire:]); {
		case value == element{}:
			zeros++
		case value == element{1}:
			ones++
		case value[1]|value[2]|value[3] == 0:
			t.Errorf("wire %d is neither 0, 1, nor full", wire)
		}
	}
	used := func(m groth16.Matrix) (share float64) {
		wires := map[uint32]bool{}
		for i := 0; i < m.Columns.Len(); i += 4 {
			wires[binary.LittleEndian.Uint32(m.Columns.Unchecked()[i:])] = true
		}
		return float64(len(wires)) / rows
	}
	for name, found := range map[string]struct{ got, want, within float64 }{
		"zeros":           {zeros / rows, 0.4, 0.02},
		"ones":            {ones / rows, 0.3, 0.02},
		"terms in A":      {float64(c.A.Columns.Len()) / 4 / rows, 2.5, 0.01},
		"terms in B":      {float64(c.B.Columns.Len()) / 4 / rows, 1.25, 0.01},
		"terms in C":      {float64(c.C.Columns.Len()) / 4 / rows, 2, 0.01},
		"wires in A":      {used(c.A), 1, 0.0001},
		"wires in B":      {used(c.B), 0.5, 0.06},
		"distinct values": {float64(c.Coefficients.Len()) / 32, 64, 0},
	} {
		if found.got < found.want-found.within || found.got > found.want+found.within {
			t.Errorf("%s: %v, expected %v within %v", name, found.got, found.want, found.within)
		}
	}
}

func TestSyntheticIsDeterministic(t *testing.T) {
	s := Synthetic{Curve: groth16.BLS12381, Rows: 3 * blockRows, Public: 2, Zeros: 0.2, Seed: 3}
	all := func(s Synthetic) []byte {
		c, witness := mustMake(t, s)
		return slices.Concat(witness, c.A.Columns.Unchecked(), c.A.Values.Unchecked(), c.B.Columns.Unchecked(), c.CoefficientsC.Unchecked())
	}
	first := all(s)
	before := runtime.GOMAXPROCS(1)
	again := all(s)
	runtime.GOMAXPROCS(before)
	if !bytes.Equal(first, again) {
		t.Error("one seed makes two circuits")
	}
	if s.Seed++; bytes.Equal(first, all(s)) {
		t.Error("two seeds make one circuit")
	}
}

func TestSyntheticRefuses(t *testing.T) {
	good := Synthetic{Curve: groth16.BN254, Rows: 8, Public: 1}
	for want, change := range map[string]func(s *Synthetic){
		"curve(0), expected bn128 or bls12381":                                                             func(s *Synthetic) { s.Curve = 0 },
		"8 rows with 7 public wires, expected at least two more than these, and at most 268435456":         func(s *Synthetic) { s.Public = 7 },
		"268435457 rows with 1 public wires, expected at least two more than these, and at most 268435456": func(s *Synthetic) { s.Rows = maxDomain + 1 },
		"shares of 0.6 zeros and 0.5 ones, expected two from 0 to 1 that are at most 1 together":           func(s *Synthetic) { s.Zeros, s.Ones = 0.6, 0.5 },
		"shares of -1 zeros and 0 ones, expected two from 0 to 1 that are at most 1 together":              func(s *Synthetic) { s.Zeros = -1 },
	} {
		s := good
		change(&s)
		if _, _, err := s.Make(context.Background()); err == nil || err.Error() != "synthetic circuit: "+want {
			t.Errorf("error %v, expected synthetic circuit: %s", err, want)
		}
	}
}

func BenchmarkSynthetic(b *testing.B) {
	for b.Loop() {
		mustMake(b, Synthetic{Curve: groth16.BN254, Rows: 1 << 20, Public: 1, Zeros: 0.4, Ones: 0.4})
	}
}

func BenchmarkSetup(b *testing.B) {
	c, _ := mustMake(b, Synthetic{Curve: groth16.BN254, Rows: 1 << 20, Public: 1, Zeros: 0.4, Ones: 0.4})
	for b.Loop() {
		if _, _, err := groth16.Setup(context.Background(), c, groth16.OddCoset); err != nil {
			b.Fatal(err)
		}
	}
}

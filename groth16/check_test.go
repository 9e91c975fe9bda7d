package groth16

import (
	"bytes"
	"math/big"
	"slices"
	"strings"
	"testing"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsfp "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	bn "github.com/consensys/gnark-crypto/ecc/bn254"
	bnfp "github.com/consensys/gnark-crypto/ecc/bn254/fp"
)

// offSubgroup are points on the curves that are not in the subgroup of order r.
func offSubgroup(t *testing.T, c Curve) (g1, g2 []byte) {
	t.Helper()
	if c == BN254 { // in G1 all points are
		for i := uint64(1); ; i++ {
			j := bn.GeneratePointNotInG2(bn.E2{A0: *new(bnfp.Element).SetUint64(i)})
			var p bn.G2Affine
			if p.FromJacobian(&j); p.IsOnCurve() && !p.IsInSubGroup() {
				return nil, memory([]bn.G2Affine{p})
			}
		}
	}
	var p1 bls.G1Affine
	var p2 bls.G2Affine
	for i := uint64(1); ; i++ {
		j1 := bls.GeneratePointNotInG1(*new(blsfp.Element).SetUint64(i))
		j2 := bls.GeneratePointNotInG2(bls.E2{A0: *new(blsfp.Element).SetUint64(i)})
		p1.FromJacobian(&j1)
		p2.FromJacobian(&j2)
		if p1.IsOnCurve() && !p1.IsInSubGroup() && p2.IsOnCurve() && !p2.IsInSubGroup() {
			return memory([]bls.G1Affine{p1}), memory([]bls.G2Affine{p2})
		}
	}
}

func TestCheckPointsFindsTheFirstBadOne(t *testing.T) {
	var scalars []*big.Int
	for i := range 300 {
		scalars = append(scalars, big.NewInt(int64(i))) // the first is the point at infinity
	}
	for _, c := range curves {
		off1, off2 := offSubgroup(t, c)
		for group, test := range map[string]struct {
			points, off []byte
			size        int
			check       func([]byte) (int, error)
		}{
			"G1": {multiplesG1(c, scalars), off1, c.G1Size(), c.CheckG1},
			"G2": {multiplesG2(c, scalars), off2, c.G2Size(), c.CheckG2},
		} {
			t.Run(c.String()+"/"+group, func(t *testing.T) {
				if i, err := test.check(test.points); i != -1 || err != nil {
					t.Fatalf("good points: %d, %v", i, err)
				}
				expect := func(want int, reason string, damage func(p []byte)) {
					t.Helper()
					points := slices.Clone(test.points)
					damage(points)
					if i, err := test.check(points); i != want || err == nil || err.Error() != reason {
						t.Errorf("point %d, %v, expected %d, %s", i, err, want, reason)
					}
				}
				at := func(i int) int { return i * test.size }
				expect(200, "not on the curve", func(p []byte) { p[at(200)] ^= 1; p[at(299)] ^= 1 })
				expect(1, "not on the curve", func(p []byte) { clear(p[at(1)+test.size/2 : at(2)]); p[at(250)] ^= 1 })
				q := littleEndianBase(c, c.BaseModulus())
				expect(299, "a coordinate is not below the field's modulus", func(p []byte) { copy(p[at(300)-len(q):], q) })
				if test.off != nil {
					expect(77, "not in the subgroup of order r", func(p []byte) { copy(p[at(77):], test.off) })
				}
				if _, err := test.check(test.points[1:]); err == nil || !strings.Contains(err.Error(), "no whole number of points") {
					t.Errorf("odd length: %v", err)
				}
			})
		}
	}
}

func littleEndianBase(c Curve, n *big.Int) []byte {
	b := n.FillBytes(make([]byte, c.BaseSize()))
	slices.Reverse(b)
	return b
}

func TestCheckScalars(t *testing.T) {
	for _, c := range curves {
		r := c.ScalarModulus()
		below := littleEndian(new(big.Int).Sub(r, big.NewInt(1)))
		words := bytes.Repeat(below, 100)
		if i, err := c.CheckScalars(words); i != -1 || err != nil {
			t.Errorf("%v: %d, %v", c, i, err)
		}
		copy(words[32*60:], littleEndian(r))
		copy(words[32*90:], bytes.Repeat([]byte{0xff}, 32))
		if i, err := c.CheckScalars(words); i != 60 || err == nil || err.Error() != "not below the order of the scalar field" {
			t.Errorf("%v: %d, %v", c, i, err)
		}
		if _, err := c.CheckScalars(words[1:]); err == nil {
			t.Errorf("%v: odd length accepted", c)
		}
	}
}

func TestDecodeCoefficients(t *testing.T) {
	for _, c := range curves {
		r := c.ScalarModulus()
		radix := new(big.Int).Lsh(big.NewInt(1), 256)
		var in, want []byte
		for i := range 20 {
			n := big.NewInt(int64(i * i * i))
			once := n.Mul(n, radix)
			once.Mod(once, r)
			want = append(want, littleEndian(once)...)
			in = append(in, littleEndian(once.Mul(once, radix).Mod(once, r))...)
		}
		if err := c.DecodeCoefficients(in, in); err != nil || !bytes.Equal(in, want) {
			t.Errorf("%v: %x, %v", c, in, err)
		}
		copy(in[32*7:], littleEndian(r))
		if err := c.DecodeCoefficients(in, in); err == nil || err.Error() != "coefficient 7: not below the order of the scalar field" {
			t.Errorf("%v: %v", c, err)
		}
		if err := c.DecodeCoefficients(in[32:], in); err == nil {
			t.Errorf("%v: lengths differ and are accepted", c)
		}
	}
}

package bn254

import (
	"fmt"
	"math/big"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

func bigInt(i int) *big.Int { return big.NewInt(int64(i)) }

func evaluate(coefficients []fr.Element, x fr.Element) (y fr.Element) {
	for i := len(coefficients) - 1; i >= 0; i-- {
		y.Mul(&y, &x).Add(&y, &coefficients[i])
	}
	return y
}

func TestToCosetEvaluatesThePolynomial(t *testing.T) {
	for _, logN := range []int{0, 1, 2, 3, 4, 5, 9} {
		t.Run(fmt.Sprint(logN), func(t *testing.T) {
			n := 1 << logN
			coefficients := make(fr.Vector, n)
			coefficients.MustSetRandom()
			root, twice := rootOfUnity(logN), rootOfUnity(logN+1)
			values := make(fr.Vector, n)
			for i := range values {
				var x fr.Element
				values[i] = evaluate(coefficients, *x.Exp(root, bigInt(i)))
			}
			domain := newDomain(n)
			domain.toCoset(values)
			for i := range n {
				var x fr.Element
				want := evaluate(coefficients, *x.Exp(twice, bigInt(2*i+1)))
				if got := values[(n-i)%n]; !got.Equal(&want) {
					t.Fatalf("value %d is wrong", i)
				}
			}
			one := fr.One()
			if domain.fromCoset(values, &one); !values.Equal(coefficients) {
				t.Fatal("fromCoset doesn't find the coefficients")
			}
		})
	}
}

func TestLargeTransformAgreesWithItsDefinition(t *testing.T) {
	// Larger than splitSize, so that it is spread over the cores: x^k for one k only.
	const n, k = 4 * splitSize, 12345
	root, twice := rootOfUnity(15), rootOfUnity(16)
	values := make(fr.Vector, n)
	var step fr.Element
	step.Exp(root, bigInt(k))
	powersOf(values, step)
	newDomain(n).toCoset(values)
	for i := 0; i < n; i += 997 {
		var want fr.Element
		want.Exp(twice, bigInt((2*i+1)*k))
		if !values[(n-i)%n].Equal(&want) {
			t.Fatalf("value %d is wrong", i)
		}
	}
}

func powersOf(v fr.Vector, x fr.Element) {
	v[0].SetOne()
	for i := range v[1:] {
		v[i+1].Mul(&v[i], &x)
	}
}

func TestRootsArePowersOfFive(t *testing.T) {
	// The root of order 2^28 that snarkjs, gnark-crypto, sppark and icicle share.
	want, _ := new(big.Int).SetString("19103219067921713944291392827692070036145651957329286315305642004821462161904", 10)
	root := rootOfUnity(28)
	if got := root.BigInt(new(big.Int)); got.Cmp(want) != 0 {
		t.Errorf("root %v, expected %v", got, want)
	}
	if got := cosetShift(twoAdicity); !got.Equal(new(fr.Element).SetUint64(25)) {
		t.Errorf("shift of the largest domain %v, expected 25", got.String())
	}
	if got, want := cosetShift(27), rootOfUnity(28); !got.Equal(&want) {
		t.Errorf("shift of the second largest domain %v, expected the root of twice its order", got.String())
	}
}

package circuit

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"slices"

	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16"
)

// element is four little-endian limbs of an element of Fr: the form of both curves' fr.Element.
type element = [4]uint64

// field is the arithmetic of a curve's scalar field on elements below r.
type field struct {
	modulus element
	add     func(z, x, y *element)
	mul     func(z, x, y *element) // Montgomery product: x*y/R
	invert  func(z, x *element)    // of the Montgomery product: R*R/x
}

func fieldOf(c groth16.Curve) field {
	f := field{modulus: elementOf(littleEndian(c.ScalarModulus(), groth16.ScalarSize))}
	switch c {
	case groth16.BN254:
		f.add = func(z, x, y *element) { (*bnfr.Element)(z).Add((*bnfr.Element)(x), (*bnfr.Element)(y)) }
		f.mul = func(z, x, y *element) { (*bnfr.Element)(z).Mul((*bnfr.Element)(x), (*bnfr.Element)(y)) }
		f.invert = func(z, x *element) { (*bnfr.Element)(z).Inverse((*bnfr.Element)(x)) }
	case groth16.BLS12381:
		f.add = func(z, x, y *element) { (*blsfr.Element)(z).Add((*blsfr.Element)(x), (*blsfr.Element)(y)) }
		f.mul = func(z, x, y *element) { (*blsfr.Element)(z).Mul((*blsfr.Element)(x), (*blsfr.Element)(y)) }
		f.invert = func(z, x *element) { (*blsfr.Element)(z).Inverse((*blsfr.Element)(x)) }
	}
	return f
}

// holds tells whether x < r.
func (f *field) holds(x *element) bool {
	var borrow uint64
	for i := range x {
		_, borrow = bits.Sub64(x[i], f.modulus[i], borrow)
	}
	return borrow == 1
}

// elementOf reads 32 little-endian bytes.
func elementOf(word []byte) element {
	_ = word[31]
	return element{
		binary.LittleEndian.Uint64(word), binary.LittleEndian.Uint64(word[8:]),
		binary.LittleEndian.Uint64(word[16:]), binary.LittleEndian.Uint64(word[24:]),
	}
}

// putElement writes x as 32 little-endian bytes.
func putElement(word []byte, x *element) {
	for i, limb := range x {
		binary.LittleEndian.PutUint64(word[8*i:], limb)
	}
}

// negative is r-x.
func (f *field) negative(x *element) (z element) {
	if *x == (element{}) {
		return z
	}
	var borrow uint64
	for i := range x {
		z[i], borrow = bits.Sub64(f.modulus[i], x[i], borrow)
	}
	return z
}

// power is R to the n: the Montgomery product with R squared multiplies by R.
func (f *field) power(n uint) element {
	x := new(big.Int).Lsh(big.NewInt(1), 256*n)
	modulus := make([]byte, groth16.ScalarSize)
	putElement(modulus, &f.modulus)
	slices.Reverse(modulus)
	return elementOf(littleEndian(x.Mod(x, new(big.Int).SetBytes(modulus)), groth16.ScalarSize))
}

func littleEndian(x *big.Int, size int) []byte {
	b := x.FillBytes(make([]byte, size))
	slices.Reverse(b)
	return b
}

// curveOfScalars returns the curve whose scalar field has that prime, given as in the files: little-endian.
func curveOfScalars(prime []byte) (groth16.Curve, bool) {
	for _, c := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		if slices.Equal(prime, littleEndian(c.ScalarModulus(), groth16.ScalarSize)) {
			return c, true
		}
	}
	return 0, false
}

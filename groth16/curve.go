package groth16

import (
	"fmt"
	"math/big"

	blsfp "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	bnfp "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// Curve names one of the two pairing-friendly curves that Pinion proves on. The zero value is no curve.
type Curve uint8

const (
	BN254    Curve = 1 // "bn128" in the files of snarkjs and circom, alt_bn128 in the EVM
	BLS12381 Curve = 2 // "bls12381" in the files of snarkjs and circom
)

// ScalarSize is the length in bytes of an element of the scalar field Fr, on both curves.
const ScalarSize = 32

// String returns the name that snarkjs uses: other names make its verifier fail.
func (c Curve) String() string {
	switch c {
	case BN254:
		return "bn128"
	case BLS12381:
		return "bls12381"
	}
	return fmt.Sprintf("curve(%d)", uint8(c))
}

// ParseCurve takes the names in use for the two curves: snarkjs's (bn128, bls12381) and the common ones (bn254, bls12-381).
func ParseCurve(name string) (Curve, error) {
	switch name {
	case "bn128", "bn254", "BN254", "alt_bn128":
		return BN254, nil
	case "bls12381", "bls12-381", "BLS12-381", "bls12_381":
		return BLS12381, nil
	}
	return 0, fmt.Errorf("unknown curve %q: expected bn128 or bls12381", name)
}

// MarshalText returns what String does.
func (c Curve) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText is ParseCurve.
func (c *Curve) UnmarshalText(text []byte) error {
	curve, err := ParseCurve(string(text))
	*c = curve
	return err
}

// ScalarModulus returns r, the order of the curve's groups. The caller owns the result.
func (c Curve) ScalarModulus() *big.Int {
	switch c {
	case BN254:
		return bnfr.Modulus()
	case BLS12381:
		return blsfr.Modulus()
	}
	panic("groth16: no curve")
}

// BaseModulus returns q, the modulus of the field that the coordinates live in. The caller owns the result.
func (c Curve) BaseModulus() *big.Int {
	switch c {
	case BN254:
		return bnfp.Modulus()
	case BLS12381:
		return blsfp.Modulus()
	}
	panic("groth16: no curve")
}

// BaseSize is the length in bytes of a coordinate: 32 or 48.
func (c Curve) BaseSize() int {
	if c == BLS12381 {
		return 48
	}
	return 32
}

// G1Size is the length in bytes of an affine point of G1 in memory and in a zkey: x, y, each little-endian Montgomery.
func (c Curve) G1Size() int { return 2 * c.BaseSize() }

// G2Size is the length in bytes of an affine point of G2: x.c0, x.c1, y.c0, y.c1.
func (c Curve) G2Size() int { return 4 * c.BaseSize() }

// ProofSize is the length in bytes of a compressed proof A | B | C: 128 (as gnark writes it) or 192 (as bellman does).
func (c Curve) ProofSize() int { return 4 * c.BaseSize() }

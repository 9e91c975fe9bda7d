package bls12381

import (
	curve "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

const (
	twoAdicity = 32 // r-1 = 2^32 times an odd number

	// halfBits bounds the length of a scalar v or of r-v, whichever is smaller.
	halfBits = fr.Bits - 1

	// compressedMask has the flag bit of a compressed point's first byte: it is not set in an uncompressed point.
	compressedMask = 1 << 7
)

// lines are the lines of a Miller loop with a fixed point of G2.
type lines = [2][len(curve.LoopCounter) - 1]curve.LineEvaluationAff

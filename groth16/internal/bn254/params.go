package bn254

import (
	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

const (
	twoAdicity = 28 // r-1 = 2^28 times an odd number

	// halfBits bounds the length of a scalar v or of r-v, whichever is smaller.
	halfBits = fr.Bits - 1

	// compressedMask has the flag bits of a compressed point's first byte: none of them is set in an uncompressed point.
	compressedMask = 0b11 << 6
)

// lines are the lines of a Miller loop with a fixed point of G2.
type lines = [2][len(curve.LoopCounter)]curve.LineEvaluationAff

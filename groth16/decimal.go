package groth16

import (
	"errors"
	"fmt"
	"math/big"
)

// maxDigits bounds a decimal number before it is parsed: 2^384 has 116 digits.
const maxDigits = 116

// parseDecimal reads a number as snarkjs writes it, decimal digits without a leading zero, into size bytes, big-endian.
func parseDecimal(text string, size int) ([]byte, error) {
	if text == "" || len(text) > maxDigits {
		return nil, fmt.Errorf("a number of %d digits, expected 1 to %d", len(text), maxDigits)
	}
	for _, c := range []byte(text) {
		if c < '0' || c > '9' {
			return nil, fmt.Errorf("%q in a number, expected decimal digits", c)
		}
	}
	if text[0] == '0' && len(text) > 1 {
		return nil, errors.New("a number with a leading zero")
	}
	n, _ := new(big.Int).SetString(text, 10)
	if n.BitLen() > 8*size {
		return nil, fmt.Errorf("a number of %d bits, expected at most %d", n.BitLen(), 8*size)
	}
	return n.FillBytes(make([]byte, size)), nil
}

func formatDecimal(bigEndian []byte) string { return new(big.Int).SetBytes(bigEndian).String() }

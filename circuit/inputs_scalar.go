package circuit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// maxDigits bounds the text of one value; leading zeros are allowed, so it is more than a field element needs.
const maxDigits = 1024

var (
	errEmpty      = errors.New("empty string, expected an integer")
	errNotInteger = errors.New("not an integer, expected decimal, 0x, 0o or 0b digits")
	errTooLong    = fmt.Errorf("longer than %d characters", maxDigits)
	errNotBelow   = errors.New("not below the order of the scalar field")
)

// A scalar is an integer below 2^256: 64-bit words, least significant first.
type scalar [4]uint64

// parseScalar reads an integer of the field with modulus r as circom's inputs hold it: decimal, or 0x, 0o, 0b and digits as
// JavaScript's BigInt takes them; a decimal one may be negative and then stands for r - |x|. Where circom reduces silently, |x| >= r
// is refused: two texts for one value have been used to spend twice. The errors hold nothing of the text, which is secret.
func parseScalar(text string, r *scalar) (scalar, error) {
	if text == "" {
		return scalar{}, errEmpty
	}
	if len(text) > maxDigits {
		return scalar{}, errTooLong
	}
	digits, base, negative := text, uint64(10), false
	switch {
	case text[0] == '-':
		digits, negative = text[1:], true
	case len(text) > 2 && text[0] == '0':
		switch text[1] | 0x20 {
		case 'x':
			digits, base = text[2:], 16
		case 'o':
			digits, base = text[2:], 8
		case 'b':
			digits, base = text[2:], 2
		}
	}
	if digits == "" {
		return scalar{}, errNotInteger
	}
	var x scalar
	below := true
	for i := range len(digits) {
		d := digit(digits[i])
		if d >= base {
			return scalar{}, errNotInteger
		}
		below = x.shift(base, d) && below
	}
	if !below || !x.less(r) {
		return scalar{}, errNotBelow
	}
	if negative && x != (scalar{}) {
		x = r.minus(&x)
	}
	return x, nil
}

func digit(c byte) uint64 {
	switch {
	case '0' <= c && c <= '9':
		return uint64(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return uint64(c|0x20-'a') + 10
	}
	return 255
}

// shift makes x base*x + d, and tells whether that fits.
func (x *scalar) shift(base, d uint64) bool {
	carry := d
	for i := range x {
		hi, lo := bits.Mul64(x[i], base)
		lo, over := bits.Add64(lo, carry, 0)
		x[i], carry = lo, hi+over
	}
	return carry == 0
}

func (x *scalar) less(y *scalar) bool {
	var borrow uint64
	for i := range x {
		_, borrow = bits.Sub64(x[i], y[i], borrow)
	}
	return borrow == 1
}

func (x *scalar) minus(y *scalar) (z scalar) {
	var borrow uint64
	for i := range x {
		z[i], borrow = bits.Sub64(x[i], y[i], borrow)
	}
	return z
}

func (x *scalar) appendTo(words []byte) []byte {
	for _, w := range x {
		words = binary.LittleEndian.AppendUint64(words, w)
	}
	return words
}

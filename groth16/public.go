package groth16

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Public are the public signals of a proof: 32 bytes each, big-endian, without the constant one. Each should be below r:
// Verify refuses others, as two values for one signal let a statement be used twice.
type Public []byte

// PublicFromWitness copies the n public signals out of a witness of 32-byte little-endian values, which has the constant one first.
func PublicFromWitness(witness []byte, n int) Public {
	public := Public(slices.Clone(witness[ScalarSize : (n+1)*ScalarSize]))
	for i := range n {
		slices.Reverse(public[i*ScalarSize : (i+1)*ScalarSize])
	}
	return public
}

// Len is the number of signals.
func (p Public) Len() int { return len(p) / ScalarSize }

// signal returns signal i, big-endian.
func (p Public) signal(i int) []byte { return p[i*ScalarSize : (i+1)*ScalarSize] }

var errPublicLength = errors.New("public signals are no whole number of 32-byte values")

// MarshalJSON writes snarkjs's public.json, an array of decimal strings.
func (p Public) MarshalJSON() ([]byte, error) {
	if len(p)%ScalarSize != 0 {
		return nil, errPublicLength
	}
	decimals := make([]string, p.Len())
	for i := range decimals {
		decimals[i] = formatDecimal(p.signal(i))
	}
	return json.Marshal(decimals)
}

// UnmarshalJSON reads snarkjs's public.json. It knows no curve: whether a signal is below r is checked by Verify.
func (p *Public) UnmarshalJSON(data []byte) error {
	var decimals []string
	if err := json.Unmarshal(data, &decimals); err != nil {
		return fmt.Errorf("public signals: %w", err)
	}
	if decimals == nil {
		return errors.New("public signals: null, expected an array")
	}
	public := make(Public, 0, len(decimals)*ScalarSize)
	for i, decimal := range decimals {
		signal, err := parseDecimal(decimal, ScalarSize)
		if err != nil {
			return fmt.Errorf("public signal %d: %w", i, err)
		}
		public = append(public, signal...)
	}
	*p = public
	return nil
}

// check refuses a number of signals other than want, and signals that are not below r.
func (p Public) check(c Curve, want int) error {
	if len(p)%ScalarSize != 0 {
		return errPublicLength
	}
	if p.Len() != want {
		return &PublicCountError{Found: p.Len(), Expected: want}
	}
	word := make([]byte, ScalarSize)
	for i := range want {
		copy(word, p.signal(i))
		slices.Reverse(word)
		if _, err := c.CheckScalars(word); err != nil {
			return &PublicRangeError{Index: i}
		}
	}
	return nil
}

// PublicCountError says that a proof comes with another number of public signals than its circuit has.
type PublicCountError struct{ Found, Expected int }

func (e *PublicCountError) Error() string {
	return fmt.Sprintf("%d public signals, expected %d", e.Found, e.Expected)
}

// PublicRangeError says that a public signal is not below the order of the scalar field.
type PublicRangeError struct{ Index int }

func (e *PublicRangeError) Error() string {
	return fmt.Sprintf("public signal %d is not below the order of the scalar field", e.Index)
}

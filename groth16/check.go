package groth16

import "errors"

// CheckG1 checks points of G1 one by one on all cores: coordinates below q, on the curve, in the subgroup; all zero is infinity and fine.
// It returns the index of the first bad point and why, or -1 and nil.
func (c Curve) CheckG1(points []byte) (int, error) { return -1, errors.New("not yet") }

// CheckG2 is CheckG1 for points of G2.
func (c Curve) CheckG2(points []byte) (int, error) { return -1, errors.New("not yet") }

// DecodeCoefficients turns the coefficients of a zkey (times R squared) into Montgomery form (times R); an element >= r is refused.
func (c Curve) DecodeCoefficients(dst, src []byte) error { return errors.New("not yet") }

// CheckScalars checks that each 32-byte little-endian word is below r. It returns the index of the first that is not, or -1 and nil.
func (c Curve) CheckScalars(words []byte) (int, error) { return -1, errors.New("not yet") }

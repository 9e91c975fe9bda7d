package groth16

import (
	"errors"
	"fmt"
)

var errScalar = errors.New("not below the order of the scalar field")

// CheckG1 checks points of G1 one by one on all cores: coordinates below q, on the curve, in the subgroup of order r. All zero is the
// point at infinity and fine. It returns the index of the first bad point and why, or -1 and nil.
func (c Curve) CheckG1(points []byte) (int, error) {
	curve, err := c.backend()
	if err != nil {
		return 0, err
	}
	if len(points)%c.G1Size() != 0 {
		return 0, fmt.Errorf("%d bytes are no whole number of points of %d bytes", len(points), c.G1Size())
	}
	return curve.CheckG1(points)
}

// CheckG2 is CheckG1 for points of G2.
func (c Curve) CheckG2(points []byte) (int, error) {
	curve, err := c.backend()
	if err != nil {
		return 0, err
	}
	if len(points)%c.G2Size() != 0 {
		return 0, fmt.Errorf("%d bytes are no whole number of points of %d bytes", len(points), c.G2Size())
	}
	return curve.CheckG2(points)
}

// CheckScalars checks that each 32-byte little-endian word is below r. It returns the index of the first that is not and an error,
// which doesn't show its value, or -1 and nil.
func (c Curve) CheckScalars(words []byte) (int, error) {
	curve, err := c.backend()
	if err != nil {
		return 0, err
	}
	if len(words)%ScalarSize != 0 {
		return 0, fmt.Errorf("%d bytes are no whole number of scalars of %d bytes", len(words), ScalarSize)
	}
	if i := curve.CheckScalars(words); i >= 0 {
		return i, errScalar
	}
	return -1, nil
}

// DecodeCoefficients turns the coefficients of a zkey, which are multiplied by R twice, into Montgomery form, which is multiplied by R
// once. dst and src are as long as each other and may be the same. An element that is not below r is refused.
func (c Curve) DecodeCoefficients(dst, src []byte) error {
	if len(dst) != len(src) {
		return fmt.Errorf("%d bytes of coefficients into %d", len(src), len(dst))
	}
	if i, err := c.CheckScalars(src); err != nil {
		return fmt.Errorf("coefficient %d: %w", i, err)
	}
	curve, err := c.backend()
	if err != nil {
		return err
	}
	curve.DecodeCoefficients(dst, src)
	return nil
}

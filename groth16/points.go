package groth16

import (
	"bytes"
	"errors"
	"fmt"
)

// Points in snarkjs's JSON: projective coordinates as decimal strings, z being 1, or (0, 1, 0) for the point at infinity.
// A coordinate of G2 is a pair, the real part first.
type (
	jsonG1 []string
	jsonG2 [][]string
)

var errCoordinate = errors.New("not below the modulus of the coordinates' field")

// encodeBase returns a coordinate in Montgomery form as a decimal number.
func (c Curve) encodeBase(montgomery []byte) (string, error) {
	curve, err := c.backend()
	if err != nil {
		return "", err
	}
	canonical := make([]byte, c.BaseSize())
	curve.EncodeBase(canonical, montgomery)
	return formatDecimal(canonical), nil
}

// decodeBase appends the Montgomery form of a decimal coordinate to dst.
func (c Curve) decodeBase(dst []byte, decimal string) ([]byte, error) {
	curve, err := c.backend()
	if err != nil {
		return nil, err
	}
	canonical, err := parseDecimal(decimal, c.BaseSize())
	if err != nil {
		return nil, err
	}
	montgomery := make([]byte, c.BaseSize())
	if !curve.DecodeBase(montgomery, canonical) {
		return nil, errCoordinate
	}
	return append(dst, montgomery...), nil
}

func (c Curve) encodeG1(point []byte) (jsonG1, error) {
	if isZero(point) {
		return jsonG1{"0", "1", "0"}, nil
	}
	x, err := c.encodeBase(point)
	if err != nil {
		return nil, err
	}
	y, err := c.encodeBase(point[c.BaseSize():])
	return jsonG1{x, y, "1"}, err
}

func (c Curve) encodeG2(point []byte) (jsonG2, error) {
	if isZero(point) {
		return jsonG2{{"0", "0"}, {"1", "0"}, {"0", "0"}}, nil
	}
	var parts [4]string
	for i := range parts {
		var err error
		if parts[i], err = c.encodeBase(point[i*c.BaseSize():]); err != nil {
			return nil, err
		}
	}
	return jsonG2{parts[0:2:2], parts[2:4:4], {"1", "0"}}, nil
}

// decodeG1 returns the point, checked: on the curve and in its subgroup.
func (c Curve) decodeG1(coordinates jsonG1) ([]byte, error) {
	if len(coordinates) != 3 {
		return nil, fmt.Errorf("%d coordinates, expected 3", len(coordinates))
	}
	if coordinates[0] == "0" && coordinates[1] == "1" && coordinates[2] == "0" {
		return make([]byte, c.G1Size()), nil
	}
	if coordinates[2] != "1" {
		return nil, errors.New("the third coordinate of an affine point is not 1")
	}
	point, err := c.decodeAffine(coordinates[:2])
	if err != nil {
		return nil, err
	}
	_, err = c.CheckG1(point)
	return point, err
}

// decodeG2 is decodeG1 for G2.
func (c Curve) decodeG2(coordinates jsonG2) ([]byte, error) {
	if len(coordinates) != 3 {
		return nil, fmt.Errorf("%d coordinates, expected 3", len(coordinates))
	}
	var parts []string
	for i, pair := range coordinates {
		if len(pair) != 2 {
			return nil, fmt.Errorf("coordinate %d has %d parts, expected 2", i, len(pair))
		}
		parts = append(parts, pair...)
	}
	if [6]string(parts) == [6]string{"0", "0", "1", "0", "0", "0"} {
		return make([]byte, c.G2Size()), nil
	}
	if [2]string(parts[4:]) != [2]string{"1", "0"} {
		return nil, errors.New("the third coordinate of an affine point is not 1")
	}
	point, err := c.decodeAffine(parts[:4])
	if err != nil {
		return nil, err
	}
	_, err = c.CheckG2(point)
	return point, err
}

var errZero = errors.New("all coordinates are zero")

func (c Curve) decodeAffine(coordinates []string) (point []byte, err error) {
	for i, decimal := range coordinates {
		if point, err = c.decodeBase(point, decimal); err != nil {
			return nil, fmt.Errorf("coordinate %d: %w", i, err)
		}
	}
	if isZero(point) {
		return nil, errZero
	}
	return point, nil
}

func isZero(b []byte) bool { return len(bytes.TrimLeft(b, "\x00")) == 0 }

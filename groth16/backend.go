package groth16

import (
	"fmt"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/bls12381"
	"github.com/pinion-zk/pinion/groth16/internal/bn254"
)

//go:generate go run ./internal/gen internal

// backend returns the arithmetic of the curve.
func (c Curve) backend() (backend.Curve, error) {
	switch c {
	case BN254:
		return bn254.Curve{}, nil
	case BLS12381:
		return bls12381.Curve{}, nil
	}
	return nil, fmt.Errorf("unknown curve %d", uint8(c))
}

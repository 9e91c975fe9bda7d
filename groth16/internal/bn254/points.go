// Package bn254 is Groth16 on BN254: proofs, checks of points, the verifier and the CPU prover.
//
// Package bls12381 is generated from it (go generate in package groth16): all that differs is the imported curve and params.go.
package bn254

import (
	"errors"
	"fmt"
	"unsafe"

	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// Curve implements backend.Curve.
type Curve struct{}

const (
	g1Size    = 2 * fp.Bytes
	g2Size    = 4 * fp.Bytes
	proofSize = 2*g1Size + g2Size
)

// elements views the start of b as n values of T, as they are in memory. Where b is not aligned to them, it is copied.
func elements[T any](b []byte, n int) []T {
	if n == 0 {
		return nil
	}
	var t T
	size := n * int(unsafe.Sizeof(t))
	p := unsafe.Pointer(unsafe.SliceData(b[:size]))
	if uintptr(p)%unsafe.Alignof(t) == 0 {
		return unsafe.Slice((*T)(p), n)
	}
	aligned := make([]T, n)
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(aligned))), size), b)
	return aligned
}

// bytesOf is the memory of v.
func bytesOf[T any](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(t)))
}

func pointG1(b []byte) *curve.G1Affine { return &elements[curve.G1Affine](b, 1)[0] }
func pointG2(b []byte) *curve.G2Affine { return &elements[curve.G2Affine](b, 1)[0] }

// DecodeBase implements backend.Curve.
func (Curve) DecodeBase(dst, src []byte) bool {
	var e fp.Element
	if err := e.SetBytesCanonical(src); err != nil {
		return false
	}
	copy(dst, bytesOf([]fp.Element{e}))
	return true
}

// EncodeBase implements backend.Curve.
func (Curve) EncodeBase(dst, src []byte) {
	canonical := elements[fp.Element](src, 1)[0].Bytes()
	copy(dst, canonical[:])
}

var (
	errCoordinate = errors.New("a coordinate is not below the field's modulus")
	errNotOnCurve = errors.New("not on the curve")
	errSubgroup   = errors.New("not in the subgroup of order r")
)

// CheckG1 implements backend.Curve.
func (Curve) CheckG1(points []byte) (int, error) {
	list := elements[curve.G1Affine](points, len(points)/g1Size)
	return parallel.First(len(list), func(i int) error { return checkG1(&list[i]) })
}

func checkG1(p *curve.G1Affine) error {
	switch {
	case !reduced(&p.X) || !reduced(&p.Y):
		return errCoordinate
	case !p.IsOnCurve():
		return errNotOnCurve
	case !p.IsInSubGroup():
		return errSubgroup
	}
	return nil
}

// CheckG2 implements backend.Curve.
func (Curve) CheckG2(points []byte) (int, error) {
	list := elements[curve.G2Affine](points, len(points)/g2Size)
	return parallel.First(len(list), func(i int) error { return checkG2(&list[i]) })
}

func checkG2(p *curve.G2Affine) error {
	switch {
	case !reduced(&p.X.A0) || !reduced(&p.X.A1) || !reduced(&p.Y.A0) || !reduced(&p.Y.A1):
		return errCoordinate
	case !p.IsOnCurve():
		return errNotOnCurve
	case !p.IsInSubGroup():
		return errSubgroup
	}
	return nil
}

// baseModulus are the limbs of q, scalarModulus those of r.
var (
	baseModulus   = limbs[fp.Element](fp.Modulus().Bytes())
	scalarModulus = limbs[fr.Element](fr.Modulus().Bytes())
)

// limbs reads a big-endian number into the memory of T, unchanged.
func limbs[T any](bigEndian []byte) T {
	list := make([]T, 1)
	memory := bytesOf(list)
	for i, b := range bigEndian {
		memory[len(bigEndian)-1-i] = b
	}
	return list[0]
}

func reduced(e *fp.Element) bool {
	for i := len(e) - 1; i >= 0; i-- {
		if e[i] != baseModulus[i] {
			return e[i] < baseModulus[i]
		}
	}
	return false
}

func reducedScalar(e *fr.Element) bool {
	for i := len(e) - 1; i >= 0; i-- {
		if e[i] != scalarModulus[i] {
			return e[i] < scalarModulus[i]
		}
	}
	return false
}

// CheckScalars implements backend.Curve.
func (Curve) CheckScalars(words []byte) int {
	for i, e := range elements[fr.Element](words, len(words)/fr.Bytes) {
		if !reducedScalar(&e) {
			return i
		}
	}
	return -1
}

// plainOne is the number one outside Montgomery form: multiplying by it takes a factor R away.
var plainOne = fr.Element{1}

// DecodeCoefficients implements backend.Curve.
func (Curve) DecodeCoefficients(dst, src []byte) {
	coefficients := fr.Vector(elements[fr.Element](src, len(src)/fr.Bytes))
	decoded := make(fr.Vector, len(coefficients))
	decoded.ScalarMul(coefficients, &plainOne)
	copy(dst, bytesOf(decoded))
}

// CompressProof implements backend.Curve.
func (Curve) CompressProof(points []byte) []byte {
	a := pointG1(points).Bytes()
	b := pointG2(points[g1Size:]).Bytes()
	c := pointG1(points[g1Size+g2Size:]).Bytes()
	return append(append(append(make([]byte, 0, proofSize/2), a[:]...), b[:]...), c[:]...)
}

// DecompressProof implements backend.Curve. It refuses the point at infinity: no honest proof has it.
func (Curve) DecompressProof(compressed []byte) ([]byte, error) {
	if len(compressed) != proofSize/2 {
		return nil, fmt.Errorf("%d bytes, expected %d", len(compressed), proofSize/2)
	}
	var a, c curve.G1Affine
	var b curve.G2Affine
	for _, part := range []struct {
		name  string
		bytes []byte
		point interface {
			SetBytes([]byte) (int, error)
			IsInfinity() bool
		}
	}{
		{"A", compressed[:g1Size/2], &a},
		{"B", compressed[g1Size/2 : (g1Size+g2Size)/2], &b},
		{"C", compressed[(g1Size+g2Size)/2:], &c},
	} {
		if part.bytes[0]&compressedMask == 0 {
			return nil, fmt.Errorf("point %s is not in compressed form", part.name)
		}
		if _, err := part.point.SetBytes(part.bytes); err != nil {
			return nil, fmt.Errorf("point %s: %w", part.name, err)
		}
		if part.point.IsInfinity() {
			return nil, fmt.Errorf("point %s is the point at infinity", part.name)
		}
	}
	return joinProof(&a, &b, &c), nil
}

func joinProof(a *curve.G1Affine, b *curve.G2Affine, c *curve.G1Affine) []byte {
	points := make([]byte, 0, proofSize)
	points = append(points, bytesOf([]curve.G1Affine{*a})...)
	points = append(points, bytesOf([]curve.G2Affine{*b})...)
	return append(points, bytesOf([]curve.G1Affine{*c})...)
}

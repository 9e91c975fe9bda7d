package circuit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/pinion-zk/pinion/groth16"
)

// matches checks that the file has the very constraints that the key was made of: same curve and counts, same A and B row by row. A key
// has no C, so that matrix can't be compared.
// The stage is "constraints".
func (r *R1CS) matches(ctx context.Context, pk *groth16.ProvingKey, progress Progress) error {
	if err := r.fits(pk.Curve, pk.Vars, pk.Public); err != nil {
		return err
	}
	if n := pk.Rows - pk.Public - 1; r.Constraints != n {
		s := r.file.sections[r1csHeader]
		return r.file.fault(s, s.offset+60, fmt.Sprintf("%d constraints", r.Constraints), fmt.Sprintf("%d as in the key", n))
	}
	plain, err := plainCoefficients(pk)
	if err != nil {
		return err
	}
	a, err := newRowReader(pk.A, plain)
	if err != nil {
		return err
	}
	b, err := newRowReader(pk.B, plain)
	if err != nil {
		return err
	}
	f := fieldOf(r.Curve)
	begun := func(b batch) bool {
		progress.report("constraints", int64(b.first+b.count), int64(r.Constraints))
		return true
	}
	return r.parallel(ctx, begun, func(run batch) error {
		var found, key []term
		return run.each(func(c constraint) error {
			for k, rows := range []*rowReader{a, b} {
				var err error
				if found, err = r.readTerms(found[:0], &f, c, c.terms[k]); err != nil {
					return err
				}
				if key, err = rows.terms(key[:0], c.index); err != nil {
					return err
				}
				if !sameTerms(found, key) {
					return r.file.fault(r.body, c.offset, fmt.Sprintf("constraint %d with another %c", c.index, "AB"[k]), "that of the key")
				}
			}
			return nil
		})
	})
}

// fits compares the header with that of a key.
func (r *R1CS) fits(curve groth16.Curve, wires, public int) error {
	s := r.file.sections[r1csHeader]
	switch {
	case r.Curve != curve:
		return r.file.fault(s, s.offset+4, primeName(r.Curve), primeName(curve)+" as in the key")
	case r.Wires != wires:
		return r.file.fault(s, s.offset+36, fmt.Sprintf("%d wires", r.Wires), fmt.Sprintf("%d as in the key", wires))
	case r.Public != public:
		return r.file.fault(s, s.offset+40, fmt.Sprintf("%d public wires", r.Public), fmt.Sprintf("%d as in the key", public))
	}
	return nil
}

// plainCoefficients are the coefficients of a key, canonical.
func plainCoefficients(pk *groth16.ProvingKey) ([]byte, error) {
	coefficients, err := pk.Coefficients.Bytes()
	if err != nil {
		return nil, err
	}
	// Decoding divides by R, here once more than a prover does: from Montgomery form to plain.
	plain := make([]byte, len(coefficients))
	return plain, pk.Curve.DecodeCoefficients(plain, coefficients)
}

// rowReader reads rows of a key's matrix.
type rowReader struct{ starts, columns, values, coefficients []byte }

// newRowReader takes the coefficients in the form that the rows are to have them in.
func newRowReader(m groth16.Matrix, coefficients []byte) (*rowReader, error) {
	rows := &rowReader{coefficients: coefficients}
	for dst, s := range map[*[]byte]groth16.Section{&rows.starts: m.Starts, &rows.columns: m.Columns, &rows.values: m.Values} {
		var err error
		if *dst, err = s.Bytes(); err != nil {
			return nil, err
		}
	}
	return rows, nil
}

// terms appends those of a row to dst. A checksum only tells that the matrix is what was written, so indices are checked.
func (m *rowReader) terms(dst []term, row int) ([]term, error) {
	lo, hi := int(binary.LittleEndian.Uint32(m.starts[4*row:])), int(binary.LittleEndian.Uint32(m.starts[4*row+4:]))
	if lo > hi || 4*hi > len(m.columns) {
		return nil, fmt.Errorf("row %d of the key's matrix has the entries %d to %d of %d", row, lo, hi, len(m.columns)/4)
	}
	for i := lo; i < hi; i++ {
		value := int(binary.LittleEndian.Uint32(m.values[4*i:])) * groth16.ScalarSize
		if value >= len(m.coefficients) {
			return nil, fmt.Errorf("row %d of the key's matrix has coefficient %d of %d", row, value/groth16.ScalarSize, len(m.coefficients)/groth16.ScalarSize)
		}
		dst = append(dst, term{binary.LittleEndian.Uint32(m.columns[4*i:]), m.coefficients[value : value+groth16.ScalarSize]})
	}
	return dst, nil
}

// sameTerms compares linear combinations whose terms may be in another order. It sorts both.
func sameTerms(a, b []term) bool {
	order := func(x, y term) int {
		return cmp.Or(cmp.Compare(x.wire, y.wire), bytes.Compare(x.value, y.value))
	}
	equal := func(x, y term) bool { return order(x, y) == 0 }
	if slices.EqualFunc(a, b, equal) {
		return true
	}
	slices.SortFunc(a, order)
	slices.SortFunc(b, order)
	return slices.EqualFunc(a, b, equal)
}

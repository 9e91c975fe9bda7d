package bn254

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"sync/atomic"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// rowsAtOnce is how many rows of a matrix are multiplied between looks at the context.
const rowsAtOnce = 2048

// radix is the number R of the Montgomery form: multiplying by it turns a canonical number into Montgomery form.
var radix = *new(fr.Element).Exp(fr.NewElement(2), big.NewInt(64*fr.Limbs))

// Synthesize implements backend.Curve.
func (Curve) Synthesize(ctx context.Context, key *backend.ProvingKey, witness, a, b []byte) error {
	va, err := writable[fr.Element](a, key.Domain)
	if err != nil {
		return err
	}
	vb, err := writable[fr.Element](b, key.Domain)
	if err != nil {
		return err
	}
	return synthesize(ctx, key, elements[fr.Element](witness, key.Vars), va, vb)
}

// writable views a buffer for n elements, which field elements are, or are made of.
func writable[T any](b []byte, n int) ([]T, error) {
	if p := unsafe.Pointer(unsafe.SliceData(b)); uintptr(p)%unsafe.Alignof(fr.Element{}) != 0 {
		return nil, errors.New("a buffer for field elements is not aligned to 8 bytes")
	}
	return elements[T](b, n), nil
}

func synthesize(ctx context.Context, key *backend.ProvingKey, witness []fr.Element, a, b fr.Vector) error {
	raw, err := key.Coefficients.Range(0, key.Coefficients.Len())
	if err != nil {
		return err
	}
	coefficients := elements[fr.Element](raw, len(raw)/fr.Bytes)
	for _, product := range []struct {
		name   string
		matrix backend.Matrix
		out    fr.Vector
	}{{"A", key.A, a}, {"B", key.B, b}} {
		m := matrix{product.matrix, coefficients}
		if err := m.multiply(ctx, key.Rows, witness, product.out); err != nil {
			return fmt.Errorf("matrix %s: %w", product.name, err)
		}
		clear(product.out[key.Rows:])
	}
	return nil
}

type matrix struct {
	backend.Matrix
	coefficients []fr.Element
}

// multiply sets the first entries of out to the product of the matrix and the witness, in Montgomery form.
func (m matrix) multiply(ctx context.Context, rows int, witness []fr.Element, out fr.Vector) error {
	var failure atomic.Pointer[error]
	parallel.Do(rows, rowsAtOnce, func(lo, hi int) {
		for ; lo < hi && failure.Load() == nil; lo += rowsAtOnce {
			err := ctx.Err()
			if err == nil {
				err = m.rows(lo, out[lo:min(lo+rowsAtOnce, hi)], witness)
			}
			if err != nil {
				failure.CompareAndSwap(nil, &err)
			}
		}
	})
	if err := failure.Load(); err != nil {
		return *err
	}
	return nil
}

// rows computes the rows from first on, one for each entry of out.
func (m matrix) rows(first int, out fr.Vector, witness []fr.Element) error {
	raw, err := m.Starts.Range(4*first, 4*(first+len(out)+1))
	if err != nil {
		return err
	}
	starts := elements[uint32](raw, len(out)+1)
	lo, hi := int(starts[0]), int(starts[len(out)])
	if lo > hi || 4*hi > m.Columns.Len() || 4*hi > m.Values.Len() {
		return fmt.Errorf("rows %d to %d: entries %d to %d of %d", first, first+len(out), lo, hi, m.Columns.Len()/4)
	}
	if raw, err = m.Columns.Range(4*lo, 4*hi); err != nil {
		return err
	}
	columns := elements[uint32](raw, hi-lo)
	if raw, err = m.Values.Range(4*lo, 4*hi); err != nil {
		return err
	}
	values := elements[uint32](raw, hi-lo)
	for i := range out {
		from, to := int(starts[i])-lo, int(starts[i+1])-lo
		if from < 0 || from > to || to > len(columns) {
			return fmt.Errorf("row %d: its entries are out of order", first+i)
		}
		if err := m.row(&out[i], columns[from:to], values[from:to], witness); err != nil {
			return fmt.Errorf("row %d: %w", first+i, err)
		}
	}
	out.ScalarMul(out, &radix)
	return nil
}

// row computes the product of one row. The product of a coefficient in Montgomery form and a canonical witness value is canonical.
func (m matrix) row(sum *fr.Element, columns, values []uint32, witness []fr.Element) error {
	sum.SetZero()
	for i, column := range columns {
		value := values[i]
		if int(column) >= len(witness) || int(value) >= len(m.coefficients) {
			return fmt.Errorf("column %d of %d with coefficient %d of %d", column, len(witness), value, len(m.coefficients))
		}
		w := &witness[column]
		switch {
		case w.IsZero():
		case value == 0: // one
			sum.Add(sum, w)
		case value == 1: // minus one
			sum.Sub(sum, w)
		default:
			var term fr.Element
			term.Mul(&m.coefficients[value], w)
			sum.Add(sum, &term)
		}
	}
	return nil
}

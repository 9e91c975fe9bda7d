package bn254

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// columns is a matrix by columns: column j has the entries from ends[j-1], or 0, to below ends[j].
type columns struct {
	ends         []uint32
	rows, values []uint32
	coefficients []fr.Element
}

// evaluateColumns sets out[j] to the sum over the rows of entry j times the basis.
func evaluateColumns(ctx context.Context, out fr.Vector, m backend.Matrix, coefficients backend.Section, basis fr.Vector) error {
	c, err := newColumns(ctx, m, coefficients, len(basis), len(out))
	if err != nil {
		return err
	}
	parallel.Do(len(out), rowsAtOnce, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		for j := lo; j < hi; j++ {
			c.evaluate(&out[j], j, basis)
		}
	})
	return ctx.Err()
}

func (c *columns) evaluate(sum *fr.Element, column int, basis fr.Vector) {
	first := uint32(0)
	if column > 0 {
		first = c.ends[column-1]
	}
	for i := first; i < c.ends[column]; i++ {
		x := &basis[c.rows[i]]
		switch value := c.values[i]; value {
		case 0: // one
			sum.Add(sum, x)
		case 1: // minus one
			sum.Sub(sum, x)
		default:
			var term fr.Element
			sum.Add(sum, term.Mul(&c.coefficients[value], x))
		}
	}
}

// newColumns sorts the entries by column: it counts those of each, and then puts each entry into the next place of its column. Cores
// share the places, so the order within a column is any.
func newColumns(ctx context.Context, m backend.Matrix, coefficients backend.Section, rows, width int) (*columns, error) {
	starts, by, values, c, err := entriesOf(m, coefficients, rows)
	if err != nil {
		return nil, err
	}
	var bad atomic.Bool
	next := make([]uint32, width)
	parallel.Do(len(by), splitSize, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			if int(by[i]) >= width || int(values[i]) >= len(c.coefficients) {
				bad.Store(true)
				return
			}
			atomic.AddUint32(&next[by[i]], 1)
		}
	})
	if bad.Load() {
		return nil, fmt.Errorf("an entry outside the %d wires and %d coefficients", width, len(c.coefficients))
	}
	sum := uint32(0)
	for j, n := range next {
		next[j] = sum
		sum += n
	}
	parallel.Do(rows, rowsAtOnce, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		for row := lo; row < hi; row++ {
			for i := starts[row]; i < starts[row+1]; i++ {
				at := atomic.AddUint32(&next[by[i]], 1) - 1
				c.rows[at], c.values[at] = uint32(row), values[i]
			}
		}
	})
	c.ends = next
	return c, ctx.Err()
}

// entriesOf reads a matrix, with room for its entries by column, and checks that its rows are in order.
func entriesOf(m backend.Matrix, coefficients backend.Section, rows int) (starts, by, values []uint32, c *columns, err error) {
	var raw [4][]byte
	for i, s := range []backend.Section{m.Starts, m.Columns, m.Values, coefficients} {
		if raw[i], err = s.Range(0, s.Len()); err != nil {
			return nil, nil, nil, nil, err
		}
	}
	n := len(raw[1]) / 4
	starts, by, values = elements[uint32](raw[0], rows+1), elements[uint32](raw[1], n), elements[uint32](raw[2], n)
	if starts[0] != 0 || int(starts[rows]) != n {
		return nil, nil, nil, nil, fmt.Errorf("rows from entry %d to %d, expected from 0 to %d", starts[0], starts[rows], n)
	}
	for row := range rows {
		if starts[row] > starts[row+1] {
			return nil, nil, nil, nil, fmt.Errorf("row %d: its entries are out of order", row)
		}
	}
	c = &columns{rows: make([]uint32, n), values: make([]uint32, n), coefficients: elements[fr.Element](raw[3], len(raw[3])/fr.Bytes)}
	return starts, by, values, c, nil
}

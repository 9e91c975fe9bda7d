package circuit

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/pinion-zk/pinion/groth16"
)

// Check tells whether a witness (Wires x 32 bytes, canonical little-endian, each below the modulus) satisfies every constraint: nil, or
// an *UnsatisfiedError that names the first that it does not. It streams the file and uses all cores. A fault of the file is a *FormatError.
func (r *R1CS) Check(ctx context.Context, witness []byte) error {
	if len(witness) != r.Wires*groth16.ScalarSize {
		return fmt.Errorf("%s: a witness of %d bytes for %d wires", r.file.name, len(witness), r.Wires)
	}
	f := fieldOf(r.Curve)
	none := int64(r.Constraints)
	var bad atomic.Int64 // the lowest known
	bad.Store(none)
	err := r.parallel(ctx, func(batch) bool { return bad.Load() == none }, func(b batch) error {
		e := evaluator{r: r, f: &f, witness: witness, inverse: f.montgomeryInverse()}
		return b.each(func(c constraint) error {
			ok, err := e.satisfied(c)
			if err == nil && !ok {
				lower(&bad, int64(c.index))
			}
			return err
		})
	})
	if err == nil && bad.Load() != none {
		err = &UnsatisfiedError{Constraint: int(bad.Load())}
	}
	return err
}

// lower makes v the least of itself and x.
func lower(v *atomic.Int64, x int64) {
	for old := v.Load(); x < old && !v.CompareAndSwap(old, x); old = v.Load() {
	}
}

// parallel works on the constraints on all cores: in batches, begun in order. more is called after each that was begun and tells
// whether to go on.
func (r *R1CS) parallel(ctx context.Context, more func(b batch) bool, work func(b batch) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	err := r.batches(ctx, func(b batch) bool {
		g.Go(func() error { return work(b) })
		return more(b)
	})
	if failed := g.Wait(); failed != nil { // it cancelled the reading
		return failed
	}
	return err
}

// evaluator evaluates constraints on a witness. It belongs to one goroutine.
type evaluator struct {
	r       *R1CS
	f       *field
	witness []byte
	inverse element // of R, plain
	terms   []term
}

// satisfied compares A.w*B.w with C.w. Montgomery products of plain numbers bring a factor 1/R each: both sides get three of them, so
// that nothing needs converting.
func (e *evaluator) satisfied(c constraint) (bool, error) {
	var dot [3]element // times 1/R
	for k := range dot {
		var err error
		if e.terms, err = e.r.readTerms(e.terms[:0], e.f, c, c.terms[k]); err != nil {
			return false, err
		}
		for _, t := range e.terms {
			value, w := elementOf(t.value), elementOf(e.witness[int(t.wire)*groth16.ScalarSize:])
			e.f.mul(&value, &value, &w)
			e.f.add(&dot[k], &dot[k], &value)
		}
	}
	var left, right element
	e.f.mul(&left, &dot[0], &dot[1])
	e.f.mul(&right, &dot[2], &e.inverse)
	return left == right, nil
}

// montgomeryInverse is 1/R: the Montgomery product of 1 and 1.
func (f *field) montgomeryInverse() element {
	one := element{1}
	var inverse element
	f.mul(&inverse, &one, &one)
	return inverse
}

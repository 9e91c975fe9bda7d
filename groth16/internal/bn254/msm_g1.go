package bn254

import (
	"context"
	"sync"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
)

// msmG1 is a sum of scalars times points (Pippenger's algorithm). It is made by tasks that don't depend on each other, for a few
// windows each.
type msmG1 struct {
	plan   *plan
	first  int                        // scalar of the first point
	points func() ([]affineG1, error) // read when the first task starts
	bits   []affineG1                 // once all tasks have ended, the sum is that of 2^i times point i
}

func newMSMG1(plan *plan, first int, section backend.Section) *msmG1 {
	return &msmG1{plan: plan, first: first, points: sync.OnceValues(func() ([]affineG1, error) {
		raw, err := section.Range(0, section.Len())
		return elements[affineG1](raw, len(raw)/int(unsafe.Sizeof(affineG1{}))), err
	})}
}

// give gives the tasks to workers. The plan must be made.
func (m *msmG1) give(ctx context.Context, tasks *tasks) {
	m.makeBits()
	for _, part := range m.plan.tasks {
		tasks.give(ctx, func(w *worker) error { return m.sum(ctx, w, part) })
	}
}

func (m *msmG1) makeBits() { m.bits = make([]affineG1, len(m.plan.windows)*m.plan.width) }

// sum makes the bits of a task's windows.
func (m *msmG1) sum(ctx context.Context, w *worker, task span) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	points, err := m.points()
	if err != nil {
		return err
	}
	w.bucketsG1 = reuse(w.bucketsG1, task.len()*m.plan.grid.buckets)
	w.adderG1.begin(w.bucketsG1)
	for i := task.lo; i < task.hi; i++ {
		if err := w.adderG1.take(ctx, points, m.first, m.plan.buckets(i)); err != nil {
			return err
		}
	}
	w.adderG1.end()
	return w.adderG1.weigh(ctx, m.bits[task.lo*m.plan.width:task.hi*m.plan.width], w.bucketsG1, &m.plan.grid)
}

// multipleG1 is a point times a canonical scalar.
type multipleG1 struct {
	point  *affineG1
	scalar [fr.Limbs]uint64
}

// combineG1 adds up the bits of sums and, with the same doublings, multiples of points.
func combineG1(bits [][]affineG1, multiples ...multipleG1) (sum jacobianG1) {
	sum.FromAffine(&affineG1{})
	top := fr.Bits
	for _, b := range bits {
		top = max(top, len(b))
	}
	for i := top - 1; i >= 0; i-- {
		sum.DoubleAssign()
		for _, b := range bits {
			if i < len(b) {
				sum.AddMixed(&b[i])
			}
		}
		for _, m := range multiples {
			if i < fr.Bits && m.scalar[i/64]>>(i%64)&1 != 0 {
				sum.AddMixed(m.point)
			}
		}
	}
	return sum
}

package bn254

import (
	"context"
	"math/big"
	"sync"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
)

// msmG1 is a sum of scalars times points (Pippenger's algorithm). Its windows are tasks that don't depend on each other.
type msmG1 struct {
	plan    *plan
	first   int                        // scalar of the first point
	points  func() ([]affineG1, error) // read when the first task starts
	windows []jacobianG1
}

func newMSMG1(plan *plan, first int, section backend.Section) *msmG1 {
	return &msmG1{plan: plan, first: first, points: sync.OnceValues(func() ([]affineG1, error) {
		raw, err := section.Range(0, section.Len())
		return elements[affineG1](raw, len(raw)/int(unsafe.Sizeof(affineG1{}))), err
	})}
}

// start starts a goroutine of g for each window. The plan must be made.
func (m *msmG1) start(ctx context.Context, g *errgroup.Group, workers chan *worker) {
	m.windows = make([]jacobianG1, len(m.plan.windows))
	for i := range m.windows {
		g.Go(func() (err error) {
			w := <-workers
			defer func() { workers <- w }()
			m.windows[i], err = m.window(ctx, w, i)
			return err
		})
	}
}

func (m *msmG1) window(ctx context.Context, w *worker, i int) (sum jacobianG1, err error) {
	if err := ctx.Err(); err != nil {
		return sum, err
	}
	points, err := m.points()
	if err != nil {
		return sum, err
	}
	w.bucketsG1 = reuse(w.bucketsG1, m.plan.grid.buckets)
	if err := w.adderG1.sum(ctx, w.bucketsG1, points, m.first, m.plan.buckets(i)); err != nil {
		return sum, err
	}
	return w.adderG1.weigh(ctx, w.bucketsG1, &m.plan.grid)
}

// result adds up the windows. All tasks must have ended.
func (m *msmG1) result() jacobianG1 { return combineG1(m.windows, m.plan.width) }

// addMultipleG1 adds k times p to sum.
func addMultipleG1(sum *jacobianG1, p *affineG1, k *fr.Element) {
	var scalar big.Int
	var product jacobianG1
	product.FromAffine(p)
	product.ScalarMultiplication(&product, k.BigInt(&scalar))
	sum.AddAssign(&product)
}

package bn254

import (
	"context"
	"sync/atomic"

	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// tasks are what the workers of a scratch have to do: whoever is idle takes the next.
type tasks struct {
	queue  chan func(*worker) error
	givers atomic.Int32
}

// start starts the workers in g. They end when each of the givers is done, or with the context.
func (s *scratch) start(ctx context.Context, g *parallel.Group, givers int) *tasks {
	t := &tasks{queue: make(chan func(*worker) error)}
	t.givers.Store(int32(givers))
	for _, w := range s.workers {
		g.Go(func() error { return t.work(ctx, w) })
	}
	return t
}

func (t *tasks) work(ctx context.Context, w *worker) error {
	for {
		select {
		case task, ok := <-t.queue:
			if !ok {
				return nil
			}
			if err := task(w); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// give waits until a worker takes the task, or for the end of the context.
func (t *tasks) give(ctx context.Context, task func(*worker) error) {
	select {
	case t.queue <- task:
	case <-ctx.Done():
	}
}

// done says that a giver has no more tasks.
func (t *tasks) done() {
	if t.givers.Add(-1) == 0 {
		close(t.queue)
	}
}

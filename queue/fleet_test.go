package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// Four workers, many jobs of all priorities, twenty producers at once: each
// job has its one result, high goes ahead, no lane starves, and no worker is
// idle while jobs wait.
func TestFleet(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	const workers, producers = 4, 20
	var submitting sync.WaitGroup
	for p := range producers {
		c := b.client()
		submitting.Go(func() {
			var requests []Request
			for i := p; i < fleetJobs; i += producers {
				r := request(fmt.Sprint("job-", i))
				r.Priority = Priorities()[i%3]
				requests = append(requests, r)
			}
			for _, s := range c.SubmitBatch(ctx(t), requests) {
				if s.Err != nil {
					t.Error(s.Err)
				}
			}
		})
	}
	submitting.Wait()

	c := b.client()
	orders := make([][]Priority, workers)
	together := &rendezvous{party: workers, complete: make(chan struct{})}
	var stops []func() error
	var mu sync.Mutex
	var high, low, lowBefore int // the last: low ones that were begun before the last high one
	for i := range orders {
		w := b.startWorkerAs(b.connect(), func(w *Worker) {
			w.pullWait, w.settle = fleetPull, fleetSettle // for slow machines: a lane that is silent for longer is taken for empty
		}, func(ctx context.Context, d *Delivery) (*Outcome, error) {
			if err := together.meet(ctx); err != nil {
				return nil, err
			}
			mu.Lock()
			orders[i] = append(orders[i], d.Priority)
			switch d.Priority {
			case High:
				high, lowBefore = high+1, low
			case Low:
				low++
			case Normal:
			}
			mu.Unlock()
			return proves(ctx, d)
		}, func(cfg *WorkerConfig) { cfg.Jobs = 1 })
		stops = append(stops, w.stop)
	}
	for stored := uint64(0); stored < fleetJobs; {
		b.eventually("another result", func() bool {
			before := stored
			if s, err := c.js.Stream(ctx(t), StreamResults); err == nil {
				stored = s.CachedInfo().State.Msgs
			}
			return stored > before
		})
	}
	b.awaitEmpty(c.js)
	var stopping sync.WaitGroup // together: each waits for its pulls
	for _, stop := range stops {
		stopping.Go(func() {
			if err := stop(); err != nil {
				t.Error(err)
			}
		})
	}
	stopping.Wait()
	if n := mustStream(t, c, StreamDead).CachedInfo().State.Msgs; n != 0 {
		t.Errorf("%d dead letters", n)
	}
	mu.Lock()
	defer mu.Unlock()
	if high != (fleetJobs+2)/3 || lowBefore > high/laneShare+workers {
		t.Errorf("%d low jobs were begun before the last of %d high ones, want at most one for %d and worker", lowBefore, high, laneShare)
	}
	for i, order := range orders {
		if len(order) != fleetJobs/workers {
			t.Errorf("worker %d proved %d of %d jobs", i, len(order), fleetJobs)
		}
		for len(order) > 0 {
			next := slices.Index(order, Low)
			if next > laneShare+1 {
				t.Errorf("worker %d: %d jobs between two low ones: %s", i, next, order[:next])
			}
			if next < 0 {
				break // no low ones were left
			}
			order = order[next+1:]
		}
	}
}

// rendezvous holds everybody who has a job until all of the party have one: if
// one stays idle, nothing goes on. The jobs are a multiple of the party.
type rendezvous struct {
	mu          sync.Mutex
	party, here int
	complete    chan struct{} // closed when all are here, and made anew
}

func (r *rendezvous) meet(ctx context.Context) error {
	r.mu.Lock()
	complete := r.complete
	if r.here++; r.here == r.party {
		r.here, r.complete = 0, make(chan struct{})
		close(complete)
	}
	r.mu.Unlock()
	select {
	case <-complete:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

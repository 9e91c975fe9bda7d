package service

import (
	"context"
	"sync"
)

// hand is the jobs that a worker has taken off the queue, weighed in tasks of the device: jobs that it computes together make up one task
// between them. So it takes whole batches of small circuits, and few jobs of large ones, which are left to other workers. It is safe for
// concurrent use.
//
// A job's circuit isn't known when it is asked for. Until it is weighed, and again when it is proven, it counts as the one that was weighed
// last did. So more large ones may come than there is room for; these are refused, for other workers to take.
type hand struct {
	most int // weight

	mu        sync.Mutex
	jobs      int
	unweighed int // of the jobs
	weighed   int // weight of the others
	whole     int // of the weighed ones, those that the device computes alone
	last      int
	changed   chan struct{} // closed, and made anew, when there is more room
}

// wholeTask is the weight of a job that the device computes alone.
const wholeTask = 1 << 10

// newHand makes a hand that holds so many tasks.
func newHand(tasks int) *hand {
	return &hand{most: tasks * wholeTask, last: wholeTask, changed: make(chan struct{})}
}

// take waits until there is room for another job. The first job always finds some. release says that the job is out of hand.
func (h *hand) take(ctx context.Context) (release func(), err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.jobs > 0 && h.weighed+(h.unweighed+1)*h.last > h.most {
		changed := h.changed
		h.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		h.mu.Lock()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
	h.change(1, 1, 0, 0)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.change(-1, -1, 0, 0)
	}, nil
}

// weigh says what a job in hand is: so many witnesses of a circuit of which the device computes batch at once, 0 if that isn't known yet.
// done says that it is proven. Not ok means that the device has enough to do without it: the job is to be handed on.
func (h *hand) weigh(witnesses, batch int) (done func(), ok bool) {
	weight, whole := wholeTask, 0
	switch {
	case batch > witnesses:
		weight = max(1, witnesses*wholeTask/batch)
	case batch > 0:
		whole = 1
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = weight
	if (h.whole+whole)*wholeTask > h.most {
		return nil, false
	}
	h.change(0, -1, weight, whole)
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.change(0, 1, -weight, -whole)
	}, true
}

// change is called with mu held.
func (h *hand) change(jobs, unweighed, weighed, whole int) {
	h.jobs += jobs
	h.unweighed += unweighed
	h.weighed += weighed
	h.whole += whole
	close(h.changed)
	h.changed = make(chan struct{})
}

package gpu

import (
	"context"
	"slices"
	"sync"
	"time"
)

// request is an entry of the queue: a task, or a call that loads or unloads a key.
type request struct {
	ctx      context.Context
	ticket   *Ticket
	enqueued time.Time
	task     *Task        // nil for a call
	call     func() error // nil for a task
	quiet    Key          // a call that has to wait until no run uses this key; nil if it needn't

	forget func() bool // stops watching ctx
}

// queue is first in, first out. Its tasks are bounded, since each holds buffers; calls, whose callers wait, aren't.
type queue struct {
	room   chan struct{} // a token for each task in the queue
	wake   chan struct{} // one token: the executor should look again
	closed chan struct{}

	mu    sync.Mutex
	items []*request
}

func newQueue(tasks int) *queue {
	return &queue{room: make(chan struct{}, tasks), wake: make(chan struct{}, 1), closed: make(chan struct{})}
}

// enter waits for room for a task.
func (q *queue) enter(ctx context.Context) error {
	if q.isClosed() {
		return ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case q.room <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-q.closed:
		return ErrClosed
	}
}

// put appends a request; a task has entered before. From now on, until next takes it, the end of its context ends it.
func (q *queue) put(r *request) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.isClosed() {
		q.left(r)
		return ErrClosed
	}
	r.enqueued = time.Now()
	r.forget = context.AfterFunc(r.ctx, func() { q.cancel(r) })
	q.items = append(q.items, r)
	q.poke()
	return nil
}

// cancel ends a request that is still in the queue.
func (q *queue) cancel(r *request) {
	q.mu.Lock()
	i := slices.Index(q.items, r)
	if i >= 0 {
		q.items = slices.Delete(q.items, i, i+1)
		q.left(r)
		q.poke() // the one behind it may be at the head now
	}
	q.mu.Unlock()
	if i >= 0 {
		r.ticket.end(nil, Timings{}, r.ctx.Err())
	}
}

// next takes the request at the head if it may start, and nil if not. One whose context has ended never gets that far, even
// if nobody had the time yet to take it out.
func (q *queue) next(ready func(*request) bool) *request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) > 0 {
		r := q.items[0]
		cancelled := r.ctx.Err()
		if cancelled == nil && !ready(r) {
			return nil
		}
		q.items[0] = nil
		q.items = q.items[1:]
		q.left(r)
		r.forget()
		if cancelled == nil {
			return r
		}
		r.ticket.end(nil, Timings{}, cancelled)
	}
	return nil
}

// close refuses all that come and ends all that wait.
func (q *queue) close() {
	q.mu.Lock()
	items := q.items
	q.items = nil
	if !q.isClosed() {
		close(q.closed)
	}
	q.mu.Unlock()
	for _, r := range items {
		r.forget()
		r.ticket.end(nil, Timings{}, ErrClosed)
	}
	q.poke()
}

func (q *queue) isClosed() bool {
	select {
	case <-q.closed:
		return true
	default:
		return false
	}
}

// left gives the room of a task back.
func (q *queue) left(r *request) {
	if r.task != nil {
		<-q.room
	}
}

func (q *queue) poke() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *queue) tasks() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, r := range q.items {
		if r.task != nil {
			n++
		}
	}
	return n
}

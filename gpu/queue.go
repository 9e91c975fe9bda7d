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

// joins says whether r can be computed together with the head of the queue: tasks of one key whose inputs are of one kind.
func (r *request) joins(head *request) bool {
	return r.task != nil && head.task != nil && r.task.Key == head.task.Key &&
		(r.task.Inputs[0].A == nil) == (head.task.Inputs[0].A == nil) && r.ctx.Err() == nil
}

// turn says whether the request at the head of the queue may start.
type turn int

const (
	notNow turn = iota
	ifFull      // a task with a whole batch of inputs, or one that others wait behind: the device is busy anyway
	now
)

// queue is first in, first out, but for tasks that join the one at the head. Its tasks are bounded, since each holds buffers; calls,
// whose callers wait, aren't.
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

// next takes what may start together: the request at the head and, if that is a task, those behind it that fit into one batch with it.
// It is nil if the head has to wait. A request whose context has ended never gets that far, even if nobody had the time yet to take it
// out.
func (q *queue) next(turnOf func(*request) turn, batchOf func(Key) int) []*request {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.items) > 0 {
		head := q.items[0]
		if err := head.ctx.Err(); err != nil {
			q.take([]*request{head})
			head.ticket.end(nil, Timings{}, err)
			continue
		}
		turn := turnOf(head)
		if turn == notNow {
			return nil
		}
		together := []*request{head}
		if head.task != nil {
			batch := batchOf(head.task.Key)
			var inputs int
			together, inputs = q.gather(head, batch)
			if turn == ifFull && inputs < batch && len(together) == len(q.items) {
				return nil
			}
		}
		q.take(together)
		return together
	}
	return nil
}

// gather finds the tasks that make a batch with the head, in their order, and counts their inputs.
func (q *queue) gather(head *request, batch int) (together []*request, inputs int) {
	together, inputs = []*request{head}, len(head.task.Inputs)
	for _, r := range q.items[1:] {
		if inputs >= batch {
			break
		}
		if r.joins(head) && inputs+len(r.task.Inputs) <= batch {
			together = append(together, r)
			inputs += len(r.task.Inputs)
		}
	}
	return together, inputs
}

// take removes requests, which are in the order of the queue.
func (q *queue) take(requests []*request) {
	rest := requests
	q.items = slices.DeleteFunc(q.items, func(r *request) bool {
		if len(rest) == 0 || r != rest[0] {
			return false
		}
		rest = rest[1:]
		return true
	})
	for _, r := range requests {
		q.left(r)
		r.forget()
	}
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

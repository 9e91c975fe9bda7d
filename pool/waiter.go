package pool

import (
	"context"
	"fmt"
	"math"
)

// demand is what a request asks for: bytes, and buffers of a pool.
type demand struct {
	bytes   int64
	pool    *Pool
	buffers []int64 // sizes of the buffers, largest first
}

// most is what it takes when no idle buffer fits; a sum that overflows is the largest number there is.
func (d demand) most() int64 {
	n := d.bytes
	for _, size := range d.buffers {
		if n > math.MaxInt64-size {
			return math.MaxInt64
		}
		n += size
	}
	return n
}

// waiter is a request in the queue.
type waiter struct {
	demand
	reservation *Reservation  // set before granted is closed
	granted     chan struct{} // closed once the bytes are the waiter's
	wake        chan struct{} // one token: the waiter is at the head, doesn't fit, and should look for memory to reclaim
}

// reserve queues a request and waits. The request at the head of the queue is the one that looks for idle memory, in its own
// goroutine: at most one does, so that pressure frees what one request is missing and no more.
func (b *Budget) reserve(ctx context.Context, d demand) (*Reservation, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d.bytes < 0 {
		return nil, fmt.Errorf("memory budget: %d bytes wanted, expected 0 or more", d.bytes)
	}
	if most := d.most(); most > b.total {
		return nil, &ExceedsError{Want: most, Total: b.total}
	}
	w := &waiter{demand: d, granted: make(chan struct{}), wake: make(chan struct{}, 1)}
	b.mu.Lock()
	b.queue = append(b.queue, w)
	if len(b.queue) == 1 {
		b.admit()
	}
	b.mu.Unlock()
	for {
		select {
		case <-w.granted:
			return w.reservation, nil
		case <-ctx.Done():
			b.leave(w)
			return nil, ctx.Err()
		case <-w.wake:
			b.reclaim(w)
		}
	}
}

// admit grants from the head of the queue while it fits, and wakes the head that doesn't. b.mu is held. It has to be called
// whenever the bytes in use shrink, a buffer becomes idle, or the head changes.
func (b *Budget) admit() {
	for len(b.queue) > 0 {
		w := b.queue[0]
		if b.missing(w) > 0 {
			select {
			case w.wake <- struct{}{}:
			default: // a token is there already, and stands for this change too
			}
			return
		}
		b.queue[0] = nil
		b.queue = b.queue[1:]
		b.grant(w)
	}
}

// grant makes the reservation: idle buffers that fit are set aside, the rest is bytes. b.mu is held.
func (b *Budget) grant(w *waiter) {
	r := &Reservation{budget: b, bytes: w.bytes}
	for i, k := range w.matches() {
		if k == nil {
			r.bytes += w.buffers[i]
			continue
		}
		w.pool.take(k)
		r.aside = append(r.aside, claim{size: w.buffers[i], block: k})
	}
	b.used += r.bytes
	w.reservation = r
	close(w.granted)
}

// matches pairs each buffer of the demand with an idle one, nil where none fits.
func (d demand) matches() []*block {
	if d.pool == nil {
		return nil
	}
	return d.pool.match(d.buffers)
}

// missing is how many bytes over the total the request would take the books now. b.mu is held.
func (b *Budget) missing(w *waiter) int64 {
	need := w.bytes
	for i, k := range w.matches() {
		if k == nil {
			need += w.buffers[i]
		}
	}
	return b.used + need - b.total
}

// isHead says whether w is at the head of the queue, and so is missing something: admit would have granted it otherwise.
// b.mu is held.
func (b *Budget) isHead(w *waiter) bool { return len(b.queue) > 0 && b.queue[0] == w }

// stillMissing is missing for the request at the head of the queue, and 0 for one that has been served.
func (b *Budget) stillMissing(w *waiter) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.isHead(w) {
		return 0
	}
	return b.missing(w)
}

// reclaim looks for the bytes that w is missing: among idle buffers that w can't use, then with the reclaimers, and last in the
// slack of idle buffers that are larger than w needs.
func (b *Budget) reclaim(w *waiter) {
	b.evict(w, (*Budget).useless)
	b.mu.Lock()
	reclaimers := b.reclaimers
	b.mu.Unlock()
	need := b.stillMissing(w)
	for _, reclaim := range reclaimers {
		if need <= 0 {
			return
		}
		freed := reclaim(need)
		need = min(need-freed, b.stillMissing(w)) // what was promised, or came back from elsewhere
	}
	if need > 0 {
		b.evict(w, (*Budget).slack)
	}
}

// evict frees the idle buffers that choose names, one at a time, until w is served or there is none. Each is freed
// before its bytes go back: the books are never behind what is mapped.
func (b *Budget) evict(w *waiter, choose func(*Budget, *waiter) *block) {
	for {
		b.mu.Lock()
		var k *block
		if b.isHead(w) { // or else it has been served
			k = choose(b, w)
		}
		if k == nil {
			b.mu.Unlock()
			return
		}
		k.pool.take(k)
		b.mu.Unlock()
		if err := k.free(); err != nil {
			b.tell(err)
		}
	}
}

// useless is the idle buffer that has been idle longest, first of the first pool, and isn't one that w would use.
func (b *Budget) useless(w *waiter) *block {
	wanted := make(map[*block]bool)
	for _, k := range w.matches() {
		wanted[k] = true
	}
	for _, p := range b.pools {
		for _, k := range p.idle {
			if !wanted[k] {
				return k
			}
		}
	}
	return nil
}

// slack is a buffer that w would use and that is larger than w needs, provided that all the slack is enough for w.
func (b *Budget) slack(w *waiter) *block {
	var slack int64
	var largest *block
	var most int64
	for i, k := range w.matches() {
		if k == nil {
			continue
		}
		waste := k.size() - w.buffers[i]
		slack += waste
		if waste > most {
			most, largest = waste, k
		}
	}
	if slack < b.missing(w) {
		return nil
	}
	return largest
}

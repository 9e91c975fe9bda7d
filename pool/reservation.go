package pool

import "fmt"

// Reservation is bytes of a budget that its holder may use. It is given back in parts or as a whole, exactly once.
// It is safe for concurrent use.
type Reservation struct {
	budget *Budget

	// Guarded by budget.mu.
	bytes  int64
	aside  []claim
	closed bool
}

// claim is an idle buffer that was set aside for a reservation that asked for one of size bytes. The budget accounts it with its
// pool, not with the reservation.
type claim struct {
	size  int64
	block *block
}

// Bytes is what the reservation still holds.
func (r *Reservation) Bytes() int64 {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	return r.bytes
}

// Release gives n bytes back. To release more than is held is a fault: what is held goes back, and the fault is reported.
func (r *Reservation) Release(n int64) {
	b := r.budget
	b.mu.Lock()
	held := r.bytes
	give := min(max(n, 0), held)
	r.bytes -= give
	b.giveBack(give)
	b.mu.Unlock()
	if give != n {
		b.fault(fmt.Errorf("pool: %d bytes released of a reservation that holds %d", n, held))
	}
}

// Split moves n bytes to a reservation of their own: those of a circuit that stays loaded, say, when the job ends.
func (r *Reservation) Split(n int64) (*Reservation, error) {
	r.budget.mu.Lock()
	defer r.budget.mu.Unlock()
	if n < 0 || n > r.bytes {
		return nil, fmt.Errorf("pool: %d bytes wanted of a reservation that holds %d", n, r.bytes)
	}
	r.bytes -= n
	return &Reservation{budget: r.budget, bytes: n}, nil
}

// Close gives back what is left: bytes, and the buffers that were set aside and not got. It may be called again.
func (r *Reservation) Close() {
	b := r.budget
	b.mu.Lock()
	r.closed = true
	aside := r.aside
	r.aside = nil
	held := r.bytes
	r.bytes = 0
	b.giveBack(held)
	b.mu.Unlock()
	for _, c := range aside {
		c.block.pool.put(c.block)
	}
}

// claimed takes the buffer that was set aside for a request of exactly this size, nil if there is none. budget.mu is held.
func (r *Reservation) claimed(p *Pool, size int64) *block {
	for i, c := range r.aside {
		if c.block.pool == p && c.size == size {
			last := len(r.aside) - 1
			r.aside[i] = r.aside[last]
			r.aside = r.aside[:last]
			return c.block
		}
	}
	return nil
}

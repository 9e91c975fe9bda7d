package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Pool keeps buffers that are expensive to make, for reuse. Each byte of them, checked out or idle, is accounted in the budget.
// It is safe for concurrent use.
type Pool struct {
	budget *Budget
	alloc  Allocator

	// Guarded by budget.mu.
	idle   []*block // longest idle first, all zero
	closed bool
	stats  Stats
}

// Stats are the pool's numbers: bytes now, and events since it was made.
type Stats struct {
	IdleBytes, InUseBytes     int64 // set-aside buffers are in use
	IdleBuffers, InUseBuffers int
	Hits, Misses              uint64 // buffers had from the idle ones, and from the allocator
	Freed                     uint64 // buffers given back to the allocator
	Leaked                    uint64 // buffers that were collected without having been released
}

var errClosed = errors.New("pool: closed")

// block is memory of the allocator. It knows its own true size; whoever holds it holds that many bytes of the budget.
type block struct {
	pool *Pool
	mem  []byte
}

func (k *block) size() int64 { return int64(len(k.mem)) }

const (
	pageSize     = 4 << 10
	hugePageSize = 2 << 20
	// Buffers from here on are whole huge pages, which the kernel then aligns: at most an eighth is added.
	hugeFrom = 8 * hugePageSize
)

// NewPool makes an empty pool of a's memory within b.
func NewPool(b *Budget, a Allocator) *Pool {
	p := &Pool{budget: b, alloc: a}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pools = append(b.pools, p)
	return p
}

// Size is the number of bytes that a buffer of n bytes takes of the budget: n rounded up to pages of 4 KiB, or 2 MiB from 16 MiB
// on. An idle buffer that is reused may be up to a quarter larger, and is accounted as such by the pool.
func (p *Pool) Size(n int) int64 {
	page := int64(pageSize)
	if n >= hugeFrom {
		page = hugePageSize
	}
	return (int64(n) + page - 1) / page * page
}

// Reserve is Budget.Reserve for n bytes and a buffer of each of the given lengths, which are then had by Get. Idle buffers that
// fit are set aside for the reservation at the moment it is granted, so that a full budget doesn't turn every reuse into a free
// and an allocation. Reservation.Bytes is n and the sizes of the buffers that have to be made.
func (p *Pool) Reserve(ctx context.Context, n int64, buffers ...int) (*Reservation, error) {
	d := demand{bytes: n, pool: p}
	for _, length := range buffers {
		if err := checkLength(length); err != nil {
			return nil, err
		}
		d.buffers = append(d.buffers, p.Size(length))
	}
	slices.SortFunc(d.buffers, func(x, y int64) int { return cmp.Compare(y, x) })
	return p.budget.reserve(ctx, d)
}

// checkLength refuses what can't be a buffer: nothing, and what would overflow when rounded up.
func checkLength(n int) error {
	if n <= 0 || n > math.MaxInt-hugePageSize {
		return fmt.Errorf("pool: buffer of %d bytes wanted, expected 1 to %d", n, math.MaxInt-hugePageSize)
	}
	return nil
}

// Get returns a buffer of n bytes, all zero: one that was set aside for r, an idle one that fits, or a new one, whose bytes are
// taken out of r. It doesn't wait for memory. It fails if r holds too little or the allocator fails; r is then as before.
func (p *Pool) Get(r *Reservation, n int) (*Buffer, error) {
	if err := checkLength(n); err != nil {
		return nil, err
	}
	size := p.Size(n)
	k, err := p.reuse(r, size)
	if err != nil {
		return nil, err
	}
	if k == nil {
		if k, err = p.create(r, size); err != nil {
			return nil, err
		}
	}
	return newBuffer(k, n), nil
}

// reuse finds a block that is there, or takes the bytes for a new one out of r and returns nil.
func (p *Pool) reuse(r *Reservation, size int64) (*block, error) {
	b := p.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	if r.budget != b {
		return nil, errors.New("pool: reservation of another budget")
	}
	if k := r.claimed(p, size); k != nil {
		p.stats.Hits++
		return k, nil
	}
	if r.bytes < size {
		return nil, fmt.Errorf("pool: buffer of %d bytes wanted of a reservation that holds %d", size, r.bytes)
	}
	r.bytes -= size
	k := p.match([]int64{size})[0]
	if k == nil {
		p.stats.Misses++
		p.count(+1, size)
		return nil, nil
	}
	p.take(k)
	p.stats.Hits++
	b.giveBack(size) // the block brings its own bytes
	return k, nil
}

// create allocates a block whose bytes have been taken out of r, and puts them back if that fails.
func (p *Pool) create(r *Reservation, size int64) (*block, error) {
	mem, err := p.alloc.Alloc(int(size))
	if err == nil {
		return &block{pool: p, mem: mem}, nil
	}
	b := p.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	p.count(-1, -size)
	if r.closed {
		b.giveBack(size)
	} else {
		r.bytes += size
	}
	return nil, fmt.Errorf("pool: buffer of %d bytes: %w", size, err)
}

// match pairs each size, largest first, with the idle block that fits it best, nil where all are too small or would waste more
// than a quarter of the size. Among equals the one used last is taken: it is the likeliest to be in a cache. budget.mu is held.
func (p *Pool) match(sizes []int64) []*block {
	found := make([]*block, len(sizes))
	for i, size := range sizes {
		for _, k := range p.idle {
			fits := k.size() >= size && k.size() <= size+size/4
			if fits && (found[i] == nil || k.size() <= found[i].size()) && !slices.Contains(found[:i], k) {
				found[i] = k
			}
		}
	}
	return found
}

// take removes a block from the idle ones, for use or to be freed. budget.mu is held.
func (p *Pool) take(k *block) {
	i := slices.Index(p.idle, k)
	p.idle = slices.Delete(p.idle, i, i+1)
	p.stats.IdleBuffers--
	p.stats.IdleBytes -= k.size()
	p.count(+1, k.size())
}

// count moves the numbers of what is in use. budget.mu is held.
func (p *Pool) count(buffers int, bytes int64) {
	p.stats.InUseBuffers += buffers
	p.stats.InUseBytes += bytes
}

// put makes a cleared block idle; its bytes stay in the budget. A closed pool frees it.
func (p *Pool) put(k *block) {
	b := p.budget
	b.mu.Lock()
	if p.closed {
		b.mu.Unlock()
		if err := k.free(); err != nil {
			b.tell(err)
		}
		return
	}
	p.idle = append(p.idle, k)
	p.stats.IdleBuffers++
	p.stats.IdleBytes += k.size()
	p.count(-1, -k.size())
	b.admit() // whoever waits may use it, or have it freed
	b.mu.Unlock()
}

// free gives a block that was taken back to the allocator, and then its bytes to the budget. When the allocator fails, the
// memory is still mapped, so its bytes stay accounted, as in use.
func (k *block) free() error {
	size := k.size()
	if err := k.pool.alloc.Free(k.mem); err != nil {
		return fmt.Errorf("pool: freeing a buffer of %d bytes: %w", size, err)
	}
	p := k.pool
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	p.stats.Freed++
	p.count(-1, -size)
	p.budget.giveBack(size)
	return nil
}

// Stats returns the numbers of now.
func (p *Pool) Stats() Stats {
	p.budget.mu.Lock()
	defer p.budget.mu.Unlock()
	return p.stats
}

// Close frees the idle buffers; those still out are freed when they are released. Get fails from now on.
func (p *Pool) Close() error {
	b := p.budget
	b.mu.Lock()
	p.closed = true
	idle := slices.Clone(p.idle)
	for _, k := range idle {
		p.take(k)
	}
	b.mu.Unlock()
	var errs []error
	for _, k := range idle {
		errs = append(errs, k.free())
	}
	return errors.Join(errs...)
}

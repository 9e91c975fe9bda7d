package pool

import "context"

// Pool keeps buffers that are expensive to make, for reuse. Each byte of them, checked out or idle, is accounted in the budget.
// It is safe for concurrent use.
type Pool struct {
	budget *Budget
	alloc  Allocator
}

// Stats are the pool's numbers: bytes now, and events since it was made.
type Stats struct {
	IdleBytes, InUseBytes     int64
	IdleBuffers, InUseBuffers int
	Hits, Misses              uint64 // buffers had from the idle ones, and from the allocator
	Freed                     uint64 // buffers given back to the allocator
	Leaked                    uint64 // buffers that were collected without having been released
}

// NewPool makes an empty pool of a's memory within b.
func NewPool(b *Budget, a Allocator) *Pool { return &Pool{budget: b, alloc: a} }

// Size is the number of bytes that a buffer of n bytes takes of the budget: n rounded up to whole pages.
func (p *Pool) Size(n int) int64 { panic("soon") }

// Reserve is Budget.Reserve for n bytes and a buffer of each of the given lengths. Idle buffers that fit are set aside
// for the reservation at the moment it is granted, so that a full budget doesn't turn every reuse into a free and an allocation.
// Reservation.Bytes is then n and the sizes of the buffers that have to be made.
func (p *Pool) Reserve(ctx context.Context, n int64, buffers ...int) (*Reservation, error) {
	panic("soon")
}

// Get returns a buffer of n bytes, all zero: one that was set aside for r, an idle one that fits, or a new one, whose bytes are
// taken out of r. It doesn't wait for memory. It fails if r holds too little or the allocator fails.
func (p *Pool) Get(r *Reservation, n int) (*Buffer, error) { panic("soon") }

// Stats returns the numbers of now.
func (p *Pool) Stats() Stats { panic("soon") }

// Close frees the idle buffers; those still out are freed when they are released. Get fails from now on.
func (p *Pool) Close() error { panic("soon") }

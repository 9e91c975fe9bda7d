package pool

import (
	"context"
	"fmt"
	"sync"
)

// Budget hands out bytes of one kind of memory (host memory, or the memory of one device) and never more than its total.
// Those who want more than is there wait in the order they came. It is safe for concurrent use.
type Budget struct {
	total int64
	mu    sync.Mutex
}

// ExceedsError says that a request can never be met, however long it waits.
type ExceedsError struct {
	Want, Total int64 // bytes
}

func (e *ExceedsError) Error() string {
	return fmt.Sprintf("memory budget: %d bytes wanted, %d bytes in all", e.Want, e.Total)
}

// NewBudget makes a budget of total bytes, none of them in use.
func NewBudget(total int64) *Budget { return &Budget{total: total} }

// Total is the number of bytes that the budget was made with.
func (b *Budget) Total() int64 { return b.total }

// Used is the number of bytes that are reserved, in a checked-out buffer, or in an idle one.
func (b *Budget) Used() int64 { panic("soon") }

// Waiting is the number of requests in the queue.
func (b *Budget) Waiting() int { panic("soon") }

// Reserve takes n bytes, after those who came before. Zero bytes are had at once. It fails with *ExceedsError, at once, when n
// is over the total, and with the context's error when that ends the wait.
func (b *Budget) Reserve(ctx context.Context, n int64) (*Reservation, error) { panic("soon") }

// OnPressure adds a reclaimer: it is asked, while a request waits, to give up at least need bytes that lie idle, and says how
// many it gave up, given back already or soon to be. The idle buffers of the pools are asked first, then reclaimers in the order
// they were added, each only for what is missing still. No lock is held during the call, and several may run at once.
func (b *Budget) OnPressure(reclaim func(need int64) (freed int64)) { panic("soon") }

// Reclaimable says that something that a reclaimer could give up has just become idle: if a request waits, the reclaimers are
// asked again.
func (b *Budget) Reclaimable() { panic("soon") }

// OnFault sets who is told of a caller's mistake: an over-release, a second release, a buffer that was leaked. The books stay
// right all the same. Built with the tag invariants, the package panics on the first two.
func (b *Budget) OnFault(report func(error)) { panic("soon") }

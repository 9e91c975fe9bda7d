package pool

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// Budget hands out bytes of one kind of memory (host memory, or the memory of one device) and never more than its total.
// Those who want more than is there wait in the order they came. It is safe for concurrent use.
type Budget struct {
	total int64

	// mu guards the books: the fields below, those of every Reservation, and the lists of every Pool of this budget.
	// It is the only lock of the package, and is never held while a reclaimer, a report or an Allocator runs.
	mu         sync.Mutex
	used       int64
	queue      []*waiter
	pools      []*Pool
	reclaimers []func(need int64) int64
	report     func(error)
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
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Waiting is the number of requests in the queue.
func (b *Budget) Waiting() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// Reserve takes n bytes, after those who came before. It fails with *ExceedsError, at once, when n is over the total,
// and with the context's error when that ends the wait.
func (b *Budget) Reserve(ctx context.Context, n int64) (*Reservation, error) {
	return b.reserve(ctx, demand{bytes: n})
}

// OnPressure adds a reclaimer: it is asked, while a request waits, to give up at least need bytes that lie idle, and says how
// many it gave up, given back already or soon to be. The idle buffers of the pools are asked first, then reclaimers in the order
// they were added, each only for what is missing still. It is called from the goroutine of the request that waits, with no lock
// held; two calls may overlap. It may be called again before the bytes that it promised are back, and should count them again.
func (b *Budget) OnPressure(reclaim func(need int64) (freed int64)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reclaimers = append(b.reclaimers, reclaim)
}

// Reclaimable says that something that a reclaimer could give up has just become idle: if a request waits, the reclaimers are
// asked again. Without it such a request would wait for a release that may never come.
func (b *Budget) Reclaimable() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.admit()
}

// OnFault sets who is told of a caller's mistake: more released than is held, a buffer released twice or leaked. The books stay
// right all the same. The default writes to slog. Built with the tag invariants, the package panics on the first two instead.
func (b *Budget) OnFault(report func(error)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.report = report
}

// fault reports a mistake that must not happen; the caller has put the books right.
func (b *Budget) fault(err error) {
	if invariants {
		panic(err)
	}
	b.tell(err)
}

func (b *Budget) tell(err error) {
	b.mu.Lock()
	report := b.report
	b.mu.Unlock()
	if report == nil {
		slog.Error("memory books", "fault", err)
		return
	}
	report(err)
}

// giveBack returns n bytes and lets in whom they suffice for. b.mu is held.
func (b *Budget) giveBack(n int64) {
	b.used -= n
	b.admit()
}

// leave takes a request whose context has ended out of the queue. If it was granted meanwhile, the grant is given back.
func (b *Budget) leave(w *waiter) {
	b.mu.Lock()
	i := slices.Index(b.queue, w)
	if i >= 0 {
		b.queue = slices.Delete(b.queue, i, i+1)
		b.admit()
	}
	b.mu.Unlock()
	if i < 0 {
		w.reservation.Close()
	}
}

// Package pool keeps the books of memory: a Budget that is never exceeded, and a Pool of buffers that are worth keeping.
//
// A job takes everything that it will need in one reservation, before it starts, so that no job waits while it holds:
//
//	budget := pool.NewBudget(limit) // bytes; see HostLimit
//	buffers := pool.NewPool(budget, pool.HugePages{})
//
//	r, err := buffers.Reserve(ctx, scratch, witnessLen, witnessLen) // waits its turn; scratch bytes and two buffers
//	if err != nil {
//		return err // *ExceedsError: can never fit; or the context's error
//	}
//	defer r.Close()                   // whatever is left
//	w, err := buffers.Get(r, witnessLen) // doesn't wait: it was reserved
//	if err != nil {
//		return err
//	}
//	defer w.Release() // cleared, and kept for the next job
//	fill(w.Bytes())
//	r.Release(scratch) // as soon as it is no longer needed
//
// # The books
//
// Budget.Used is the sum of what reservations hold, of the buffers that are checked out, and of those that lie idle. Bytes are
// accounted before memory is mapped and given back after it is unmapped, so the books are never behind what is there.
// A buffer is accounted with its own true size, also when it serves a smaller request.
//
// Requests are served in the order they came; a small one doesn't overtake a large one. The one at the head looks for memory that
// lies idle: buffers that it can't use itself, longest idle first, then what the reclaimers of Budget.OnPressure have. It asks
// for what it is missing and no more, and asks again whenever something is released or becomes idle. Who keeps idle memory
// outside a Pool has to say so by Budget.Reclaimable.
//
// # Locks
//
// There is one lock, the budget's. It guards the books of its reservations and pools too, and is never held while foreign
// code runs (reclaimers, reports, allocators), which may therefore call anything of this package.
//
// # Mistakes
//
// An over-release, a second release of a buffer and a buffer that was never released leave the books right and are reported to
// Budget.OnFault. With the build tag invariants the first two panic.
package pool

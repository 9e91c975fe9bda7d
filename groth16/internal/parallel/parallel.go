// Package parallel spreads loops over all cores.
package parallel

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// Do calls f on ranges that cover [0, n), each at most grain long, on all cores, and returns when all are done.
func Do(n, grain int, f func(lo, hi int)) {
	tasks := (n + grain - 1) / grain
	workers := min(runtime.GOMAXPROCS(0), tasks)
	if workers <= 1 {
		if n > 0 {
			f(0, n)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				lo := int(next.Add(1)-1) * grain
				if lo >= n {
					return
				}
				f(lo, min(lo+grain, n))
			}
		})
	}
	wg.Wait()
}

// First calls check for the indices 0 to n-1, on all cores, and returns the first index that fails and its error,
// or -1 and nil. Indices past a failure may be left out.
func First(n int, check func(i int) error) (int, error) {
	const grain = 64
	var (
		mu    sync.Mutex
		err   error
		first atomic.Int64
	)
	first.Store(math.MaxInt64)
	Do(n, grain, func(lo, hi int) {
		for i := lo; i < hi && int64(i) < first.Load(); i++ {
			e := check(i)
			if e == nil {
				continue
			}
			mu.Lock()
			if int64(i) < first.Load() {
				err = e
				first.Store(int64(i))
			}
			mu.Unlock()
			return
		}
	})
	if err == nil {
		return -1, nil
	}
	return int(first.Load()), err
}

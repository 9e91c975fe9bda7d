// Package parallel spreads work over all cores. A panic on one of its goroutines is raised again, as a *PanicError, on that which waits
// for it, so that no goroutine ends the process.
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
	share := func() {
		for {
			lo := int(next.Add(1)-1) * grain
			if lo >= n {
				return
			}
			f(lo, min(lo+grain, n))
		}
	}
	wait := make([]func(), workers-1)
	for i := range wait {
		wait[i] = start(share)
	}
	defer func() {
		for _, w := range wait {
			w()
		}
	}()
	share()
}

// Both calls f on another goroutine and g on this one, and returns when both are done.
func Both(f, g func()) {
	wait := start(f)
	defer wait()
	g()
}

// start calls f on another goroutine. The function that it returns waits for f, and raises its panic again.
func start(f func()) (wait func()) {
	done := make(chan error, 1)
	go func() { done <- guard(func() error { f(); return nil }) }()
	return func() {
		if err := <-done; err != nil {
			panic(err)
		}
	}
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

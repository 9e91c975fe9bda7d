package pool

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
)

func mustReserve(t *testing.T, b *Budget, n int64) *Reservation {
	t.Helper()
	r, err := b.Reserve(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantUsed(t *testing.T, b *Budget, want int64) {
	t.Helper()
	if got := b.Used(); got != want {
		t.Fatalf("budget used %d, want %d", got, want)
	}
}

// wantFault runs f, which makes the mistake that is told as text: a report, or a panic under the invariants tag.
func wantFault(t *testing.T, b *Budget, text string, f func()) {
	t.Helper()
	var told error
	b.OnFault(func(err error) { told = err })
	func() {
		defer func() {
			if e, ok := recover().(error); ok {
				told = e
			}
		}()
		f()
	}()
	if told == nil || told.Error() != text {
		t.Fatalf("fault %v, want %q", told, text)
	}
}

func TestReserveRefusesAtOnce(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	for _, test := range []struct {
		ctx  context.Context
		n    int64
		want string
	}{
		{t.Context(), 0, ""},
		{t.Context(), 100, ""},
		{t.Context(), 101, "memory budget: 101 bytes wanted, 100 bytes in all"},
		{t.Context(), math.MaxInt64, "memory budget: 9223372036854775807 bytes wanted, 100 bytes in all"},
		{t.Context(), -1, "memory budget: -1 bytes wanted, expected 0 or more"},
		{done, 1, "context canceled"},
	} {
		b := NewBudget(100)
		r, err := b.Reserve(test.ctx, test.n)
		if got := fmt.Sprint(err); err != nil && got != test.want || err == nil && test.want != "" {
			t.Errorf("Reserve(%d): %v, want %q", test.n, err, test.want)
		}
		if err == nil && (r.Bytes() != test.n || b.Used() != test.n) {
			t.Errorf("Reserve(%d): reservation of %d, used %d", test.n, r.Bytes(), b.Used())
		}
	}
	// What can never fit is refused while others wait, too.
	b := NewBudget(100)
	mustReserve(t, b, 100)
	var exceeds *ExceedsError
	if _, err := b.Reserve(t.Context(), 101); !errors.As(err, &exceeds) || *exceeds != (ExceedsError{101, 100}) {
		t.Errorf("Reserve over the total of a full budget: %v", err)
	}
}

func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10)
		held := mustReserve(t, b, 10)
		var mu sync.Mutex
		var order []int64
		var served []*Reservation
		for _, n := range []int64{9, 1, 8, 2} { // each pair fits, no three do
			go func() {
				r := mustReserve(t, b, n)
				mu.Lock()
				order, served = append(order, n), append(served, r)
				mu.Unlock()
			}()
			synctest.Wait()
		}
		held.Release(8)
		synctest.Wait()
		if len(order) != 0 {
			t.Fatalf("a request of 1 or 2 bytes overtook one of 9: %v", order)
		}
		held.Release(1)
		synctest.Wait()
		held.Release(1)
		synctest.Wait()
		if want := []int64{9, 1}; !slices.Equal(order, want) {
			t.Fatalf("served %v, want %v", order, want)
		}
		if b.Waiting() != 2 {
			t.Fatalf("%d wait, want 2", b.Waiting())
		}
		served[0].Close() // of the 9: 8 fits now, 2 doesn't
		synctest.Wait()
		served[1].Close()
		synctest.Wait()
		if want := []int64{9, 1, 8, 2}; !slices.Equal(order, want) {
			t.Fatalf("served %v, want %v", order, want)
		}
	})
}

func TestHeadThatGivesUpLetsTheNextIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(10)
		mustReserve(t, b, 5)
		ctx, cancel := context.WithCancel(t.Context())
		head := make(chan error, 1)
		go func() {
			_, err := b.Reserve(ctx, 6)
			head <- err
		}()
		synctest.Wait()
		next := make(chan *Reservation, 1)
		go func() { next <- mustReserve(t, b, 5) }()
		synctest.Wait()
		cancel()
		if err := <-head; !errors.Is(err, context.Canceled) {
			t.Errorf("head: %v", err)
		}
		(<-next).Close()
		wantUsed(t, b, 5)
	})
}

func TestGrantedToOneThatLeftComesBack(t *testing.T) {
	b := NewBudget(10)
	r := mustReserve(t, b, 10)
	w := &waiter{demand: demand{bytes: 4}, granted: make(chan struct{}), wake: make(chan struct{}, 1)}
	b.queue = append(b.queue, w)
	r.Close() // grants
	wantUsed(t, b, 4)
	b.leave(w) // the context ended at the same moment
	wantUsed(t, b, 0)
}

func TestPressureAsksForWhatIsMissing(t *testing.T) {
	b := NewBudget(100)
	first, second := mustReserve(t, b, 40), mustReserve(t, b, 40)
	var asked []string
	b.OnPressure(func(need int64) int64 {
		asked = append(asked, fmt.Sprint("first ", need, " of ", b.Used())) // the lock is free
		first.Release(10)
		return 10
	})
	b.OnPressure(func(need int64) int64 {
		asked = append(asked, fmt.Sprint("second ", need))
		second.Close()
		return 40
	})
	b.OnPressure(func(int64) int64 { t.Error("the third was asked for nothing"); return 0 })
	mustReserve(t, b, 20)
	if len(asked) != 0 {
		t.Fatalf("asked while there was room: %q", asked)
	}
	mustReserve(t, b, 25)
	if want := []string{"first 25 of 100", "second 15"}; !slices.Equal(asked, want) {
		t.Fatalf("asked %q, want %q", asked, want)
	}
	wantUsed(t, b, 75)
}

func TestPressureTrustsWhatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		circuit := mustReserve(t, b, 100)
		unload := make(chan struct{})
		b.OnPressure(func(need int64) int64 {
			go func() { <-unload; circuit.Close() }()
			return 100
		})
		b.OnPressure(func(need int64) int64 { t.Errorf("asked for %d that are on their way", need); return 0 })
		go func() { synctest.Wait(); close(unload) }()
		mustReserve(t, b, 60)
	})
}

func TestWhatBecomesIdleLaterIsAskedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBudget(100)
		circuit := mustReserve(t, b, 100)
		inUse := true
		b.OnPressure(func(int64) int64 {
			if inUse {
				return 0
			}
			circuit.Close()
			return 100
		})
		granted := make(chan struct{})
		go func() { mustReserve(t, b, 1); close(granted) }()
		synctest.Wait()
		inUse = false
		b.Reclaimable()
		<-granted
	})
}

func TestReservationParts(t *testing.T) {
	b := NewBudget(100)
	r := mustReserve(t, b, 50)
	r.Release(20)
	r.Release(0)
	wantUsed(t, b, 30)
	wantFault(t, b, "pool: 31 bytes released of a reservation that holds 30", func() { r.Release(31) })
	wantUsed(t, b, 0)
	wantFault(t, b, "pool: 1 bytes released of a reservation that holds 0", func() { r.Release(1) })
	wantFault(t, b, "pool: -1 bytes released of a reservation that holds 0", func() { r.Release(-1) })
	r.Close()
	r.Close()
	wantUsed(t, b, 0)
}

func TestSplit(t *testing.T) {
	b := NewBudget(100)
	job := mustReserve(t, b, 50)
	circuit, err := job.Split(30)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range map[int64]string{
		21: "pool: 21 bytes wanted of a reservation that holds 20",
		-1: "pool: -1 bytes wanted of a reservation that holds 20",
	} {
		if _, err := job.Split(n); err == nil || err.Error() != want {
			t.Errorf("Split(%d): %v, want %q", n, err, want)
		}
	}
	job.Close()
	wantUsed(t, b, 30)
	circuit.Close()
	wantUsed(t, b, 0)
}

func TestCloseAndReleaseAtOnce(t *testing.T) {
	b := NewBudget(1000)
	r := mustReserve(t, b, 1000)
	b.OnFault(func(error) {}) // a part released after Close is one
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			defer func() { recover() }() // under the invariants tag
			r.Release(100)
		})
		all.Go(r.Close)
	}
	all.Wait()
	wantUsed(t, b, 0)
}

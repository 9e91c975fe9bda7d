package pool

import (
	"bytes"
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
)

const kib = 1 << 10

// heap is an Allocator on the Go heap that counts, checks, and fails when told to. It asks the budget on each call, which hangs if
// the pool calls it with the lock held.
type heap struct {
	budget    *Budget
	mu        sync.Mutex
	live      map[*byte]int
	bytes     int64
	allocs    int
	freed     []int
	allocFail error
	freeFail  error
	dirty     bool // something was freed that wasn't cleared
}

func (h *heap) Alloc(n int) ([]byte, error) {
	h.budget.Used()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.allocFail != nil {
		return nil, h.allocFail
	}
	mem := make([]byte, n)
	if h.live == nil {
		h.live = map[*byte]int{}
	}
	h.live[&mem[0]] = n
	h.bytes += int64(n)
	h.allocs++
	return mem, nil
}

func (h *heap) Free(mem []byte) error {
	h.budget.Used()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.freeFail != nil {
		return h.freeFail
	}
	if h.live[&mem[0]] != len(mem) {
		return errors.New("not what was allocated")
	}
	delete(h.live, &mem[0])
	h.bytes -= int64(len(mem))
	h.freed = append(h.freed, len(mem)/kib)
	h.dirty = h.dirty || !bytes.Equal(mem, make([]byte, len(mem)))
	return nil
}

func newPool(total int64) (*Budget, *heap, *Pool) {
	b := NewBudget(total)
	h := &heap{budget: b}
	return b, h, NewPool(b, h)
}

// checkOut reserves and gets buffers of the given KiB.
func checkOut(t *testing.T, p *Pool, sizes ...int) []*Buffer {
	t.Helper()
	var lengths []int
	for _, n := range sizes {
		lengths = append(lengths, n*kib)
	}
	r, err := p.Reserve(t.Context(), 0, lengths...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var out []*Buffer
	for _, n := range lengths {
		buf, err := p.Get(r, n)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, buf)
	}
	if r.Bytes() != 0 {
		t.Fatalf("%d bytes left of a reservation for buffers only", r.Bytes())
	}
	return out
}

func TestSize(t *testing.T) {
	p := NewPool(NewBudget(1), &heap{})
	for n, want := range map[int]int64{1: 4096, 4096: 4096, 4097: 8192, 16<<20 - 1: 16 << 20, 16<<20 + 1: 18 << 20} {
		if got := p.Size(n); got != want {
			t.Errorf("Size(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestReuseIsClearedAndExactlyAccounted(t *testing.T) {
	b, h, p := newPool(1000 * kib)
	large := checkOut(t, p, 100)[0]
	for i := range large.Bytes() {
		large.Bytes()[i] = 0xff
	}
	large.Release()
	wantUsed(t, b, 100*kib)
	if large.Bytes() != nil {
		t.Error("a released buffer still shows its bytes")
	}

	small := checkOut(t, p, 80)[0] // the larger one, with all of its true size
	if len(small.Bytes()) != 80*kib || cap(small.Bytes()) != 80*kib || small.Size() != 100*kib {
		t.Errorf("buffer of %d bytes, capacity %d, size %d", len(small.Bytes()), cap(small.Bytes()), small.Size())
	}
	if !bytes.Equal(small.Bytes(), make([]byte, 80*kib)) {
		t.Error("the bytes of the buffer's former owner are there")
	}
	wantUsed(t, b, 100*kib)
	small.Release()
	again := checkOut(t, p, 100)[0] // the block kept its size
	if again.Size() != 100*kib || h.allocs != 1 {
		t.Errorf("size %d, %d allocations", again.Size(), h.allocs)
	}
	again.Release()

	tooSmall := checkOut(t, p, 76)[0] // would waste more than a quarter
	wantUsed(t, b, 176*kib)
	tooSmall.Release()
	want := Stats{IdleBytes: 176 * kib, IdleBuffers: 2, Hits: 2, Misses: 2}
	if got := p.Stats(); got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}

func TestBestFit(t *testing.T) {
	_, _, p := newPool(1000 * kib)
	for _, buf := range checkOut(t, p, 120, 104, 112) {
		buf.Release()
	}
	if got := checkOut(t, p, 100)[0].Size(); got != 104*kib {
		t.Errorf("best fit for 100 KiB is %d KiB, want 104", got/kib)
	}
}

// A plain reservation gets idle buffers too, and its bytes go back then.
func TestHitGivesTheReservedBytesBack(t *testing.T) {
	b, _, p := newPool(1000 * kib)
	checkOut(t, p, 100)[0].Release()
	r := mustReserve(t, b, 150*kib)
	buf, err := p.Get(r, 90*kib)
	if err != nil {
		t.Fatal(err)
	}
	if r.Bytes() != 58*kib || buf.Size() != 100*kib { // 90 KiB are 92 in whole pages
		t.Errorf("reservation left with %d, buffer of %d", r.Bytes(), buf.Size())
	}
	wantUsed(t, b, 158*kib)
}

// In normal back-pressure, where the idle buffers fill the budget, the next job of the same shape uses them:
// nothing is freed and nothing allocated.
func TestFullBudgetReusesInsteadOfFreeing(t *testing.T) {
	b, h, p := newPool(200 * kib)
	for range 5 {
		for _, buf := range checkOut(t, p, 100, 100) {
			buf.Release()
		}
		wantUsed(t, b, 200*kib)
	}
	if h.allocs != 2 || len(h.freed) != 0 {
		t.Errorf("%d allocations, %v freed", h.allocs, h.freed)
	}
}

func TestPressureFreesLongestIdleAndOnlyWhatIsMissing(t *testing.T) {
	b, h, p := newPool(100 * kib)
	b.OnPressure(func(int64) int64 { t.Error("reclaimer asked while idle buffers sufficed"); return 0 })
	bufs := checkOut(t, p, 40, 20, 12, 28)
	for _, i := range []int{1, 2, 0, 3} {
		bufs[i].Release()
	}
	r := mustReserve(t, b, 30*kib)
	if want := []int{20, 12}; len(h.freed) != 2 || h.freed[0] != want[0] || h.freed[1] != want[1] {
		t.Errorf("freed %v KiB, want %v", h.freed, want)
	}
	wantUsed(t, b, 98*kib)
	r.Close()
}

// The buffers that the waiting request would use itself are spared.
func TestPressureSparesWhatTheRequestUses(t *testing.T) {
	_, h, p := newPool(100 * kib)
	bufs := checkOut(t, p, 60, 40)
	bufs[0].Release()
	bufs[1].Release()
	r, err := p.Reserve(t.Context(), 40*kib, 60*kib)
	if err != nil {
		t.Fatal(err)
	}
	if len(h.freed) != 1 || h.freed[0] != 40 || r.Bytes() != 40*kib {
		t.Errorf("freed %v KiB, reservation of %d", h.freed, r.Bytes())
	}
	r.Close() // without having got the buffer
	if s := p.Stats(); s.IdleBytes != 60*kib || s.InUseBytes != 0 {
		t.Errorf("stats %+v", s)
	}
}

// All of the budget for a job whose only obstacle is that the idle buffer it would use is larger than it needs.
func TestSlackIsFreedLast(t *testing.T) {
	b, h, p := newPool(100 * kib)
	checkOut(t, p, 60)[0].Release()
	r, err := p.Reserve(t.Context(), 48*kib, 52*kib)
	if err != nil {
		t.Fatal(err)
	}
	wantUsed(t, b, 100*kib)
	if len(h.freed) != 1 || r.Bytes() != 100*kib {
		t.Errorf("freed %v KiB, reservation of %d", h.freed, r.Bytes())
	}
}

// What others hold is waited for: to free the slack wouldn't help.
func TestSlackIsKeptWhereItIsTooLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, h, p := newPool(100 * kib)
		checkOut(t, p, 60)[0].Release()
		held := mustReserve(t, b, 40*kib)
		granted := make(chan error, 1)
		go func() {
			_, err := p.Reserve(t.Context(), 40*kib, 52*kib)
			granted <- err
		}()
		synctest.Wait()
		held.Close()
		if err := <-granted; err != nil || len(h.freed) != 0 {
			t.Errorf("%v, freed %v KiB", err, h.freed)
		}
	})
}

func TestReleaseServesTheOneThatWaits(t *testing.T) {
	for name, reserve := range map[string]func(ctx context.Context, p *Pool) (*Reservation, error){
		"by reuse":   func(ctx context.Context, p *Pool) (*Reservation, error) { return p.Reserve(ctx, 0, 100*kib) },
		"by freeing": func(ctx context.Context, p *Pool) (*Reservation, error) { return p.Reserve(ctx, 0, 8*kib) },
		"as bytes":   func(ctx context.Context, p *Pool) (*Reservation, error) { return p.budget.Reserve(ctx, 100*kib) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, _, p := newPool(100 * kib)
				buf := checkOut(t, p, 100)[0]
				granted := make(chan error, 1)
				go func() {
					_, err := reserve(t.Context(), p)
					granted <- err
				}()
				synctest.Wait()
				buf.Release()
				if err := <-granted; err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

func TestGetRefuses(t *testing.T) {
	b, h, p := newPool(1000 * kib)
	r := mustReserve(t, b, 8*kib)
	other := mustReserve(t, NewBudget(1000*kib), 8*kib)
	for _, test := range []struct {
		r    *Reservation
		n    int
		want string
	}{
		{r, 0, "pool: buffer of 0 bytes wanted, expected 1 to 9223372036852678655"},
		{r, -5, "pool: buffer of -5 bytes wanted, expected 1 to 9223372036852678655"},
		{r, math.MaxInt, "pool: buffer of 9223372036854775807 bytes wanted, expected 1 to 9223372036852678655"},
		{r, 8*kib + 1, "pool: buffer of 12288 bytes wanted of a reservation that holds 8192"},
		{other, 1, "pool: reservation of another budget"},
	} {
		if _, err := p.Get(test.r, test.n); err == nil || err.Error() != test.want {
			t.Errorf("Get(%d): %v, want %q", test.n, err, test.want)
		}
	}
	h.allocFail = errors.New("out of memory")
	if _, err := p.Get(r, 8*kib); !errors.Is(err, h.allocFail) || err.Error() != "pool: buffer of 8192 bytes: out of memory" {
		t.Errorf("failing allocator: %v", err)
	}
	if r.Bytes() != 8*kib || b.Used() != 8*kib || p.Stats().InUseBytes != 0 {
		t.Errorf("after it: reservation of %d, used %d, %+v", r.Bytes(), b.Used(), p.Stats())
	}
	var exceeds *ExceedsError
	if _, err := p.Reserve(t.Context(), 1, math.MaxInt-hugePageSize, math.MaxInt-hugePageSize); !errors.As(err, &exceeds) {
		t.Errorf("sizes whose sum overflows: %v", err)
	}
	if _, err := p.Reserve(t.Context(), 1, 0); err == nil {
		t.Error("Reserve of a buffer of 0 bytes")
	}
}

// What can't be freed is still mapped, and so it stays in the books; the request waits on for other memory.
func TestFailingFreeStaysAccounted(t *testing.T) {
	b, h, p := newPool(100 * kib)
	bufs := checkOut(t, p, 40, 60)
	bufs[0].Release()
	h.freeFail = errors.New("busy")
	var told []error
	b.OnFault(func(err error) { told = append(told, err); h.freeFail = nil; bufs[1].Release() })
	r := mustReserve(t, b, 50*kib)
	if len(told) != 1 || told[0].Error() != "pool: freeing a buffer of 40960 bytes: busy" {
		t.Errorf("told %v", told)
	}
	wantUsed(t, b, 90*kib)
	r.Close()
}

func TestReleaseTwice(t *testing.T) {
	b, _, p := newPool(100 * kib)
	buf := checkOut(t, p, 40)[0]
	buf.Release()
	other := checkOut(t, p, 40)[0] // the same memory
	wantFault(t, b, "pool: buffer of 40960 bytes released twice", buf.Release)
	if s := p.Stats(); s.IdleBuffers != 0 || s.InUseBuffers != 1 {
		t.Errorf("stats %+v", s)
	}
	other.Release()
}

func TestLeakedBufferIsReportedAndFreed(t *testing.T) {
	b, h, p := newPool(100 * kib)
	told := make(chan error, 1)
	b.OnFault(func(err error) { told <- err })
	func() {
		buf := checkOut(t, p, 40)[0]
		buf.Bytes()[0] = 1
	}()
	var err error
	for err == nil {
		runtime.GC()
		select {
		case err = <-told:
		default:
			runtime.Gosched()
		}
	}
	if err.Error() != "pool: buffer of 40960 bytes was never released" {
		t.Errorf("told %v", err)
	}
	wantUsed(t, b, 0)
	if s := p.Stats(); s.Leaked != 1 || s.Freed != 1 || s.InUseBuffers != 0 || h.bytes != 0 || h.dirty {
		t.Errorf("stats %+v, %d bytes mapped, dirty %v", s, h.bytes, h.dirty)
	}
}

func TestClose(t *testing.T) {
	b, h, p := newPool(100 * kib)
	bufs := checkOut(t, p, 40, 20)
	bufs[0].Release()
	aside, err := p.Reserve(t.Context(), 0, 40*kib)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Get(aside, 40*kib); !errors.Is(err, errClosed) {
		t.Errorf("Get of a closed pool: %v", err)
	}
	bufs[1].Release()
	aside.Close()
	wantUsed(t, b, 0)
	if h.bytes != 0 || len(h.freed) != 2 {
		t.Errorf("%d bytes mapped, freed %v", h.bytes, h.freed)
	}
}

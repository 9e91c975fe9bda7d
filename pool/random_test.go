package pool

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Many jobs of random shapes and patience, an idle keeper outside the pool, and a total that is always short. The bubble's clock
// makes the waits free, and its deadlock detector catches a lost wake-up.
func TestRandomLoad(t *testing.T) {
	for seed := range uint64(5) {
		synctest.Test(t, func(t *testing.T) { randomLoad(t, seed) })
	}
}

func randomLoad(t *testing.T, seed uint64) {
	const total = 400 * kib
	b, h, p := newPool(total)
	keeper := &keeper{budget: b}
	b.OnPressure(keeper.reclaim)
	b.OnFault(func(err error) { t.Error(err) })
	var inUse atomic.Int64
	check := func() {
		h.mu.Lock()
		mapped := h.bytes
		h.mu.Unlock()
		if used := b.Used(); used > total || mapped > total || inUse.Load() > total {
			t.Errorf("%d used, %d mapped, %d in use, of %d", used, mapped, inUse.Load(), total)
		}
	}
	var jobs sync.WaitGroup
	for worker := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, worker))
		jobs.Go(func() {
			for range 60 {
				job(t, rng, p, keeper, &inUse)
				check()
			}
		})
	}
	jobs.Wait()
	keeper.reclaim(total)
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	wantUsed(t, b, 0)
	if s := p.Stats(); h.bytes != 0 || h.dirty || s.InUseBytes != 0 || s.IdleBytes != 0 || b.Waiting() != 0 {
		t.Errorf("at the end %d bytes mapped, dirty %v, %+v", h.bytes, h.dirty, s)
	}
}

var zeros = make([]byte, 90*kib)

// job reserves bytes and buffers, uses them for a while in fake time, and leaves some bytes idle with the keeper.
func job(t *testing.T, rng *rand.Rand, p *Pool, keeper *keeper, inUse *atomic.Int64) {
	pause := func() { time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond) }
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+rng.IntN(40))*time.Millisecond)
	defer cancel()
	extra := rng.Int64N(100 * kib)
	lengths := make([]int, rng.IntN(4))
	for i := range lengths {
		lengths[i] = 1 + rng.IntN(90*kib)
	}
	r, err := p.Reserve(ctx, extra, lengths...)
	if err != nil {
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		return
	}
	defer r.Close()
	inUse.Add(extra)
	defer inUse.Add(-extra)
	for _, n := range lengths {
		pause()
		if rng.IntN(8) == 0 {
			continue // a job that ends early
		}
		buf, err := p.Get(r, n)
		if err != nil {
			t.Error(err)
			return
		}
		if !bytes.Equal(buf.Bytes(), zeros[:n]) {
			t.Error("bytes of another job")
		}
		buf.Bytes()[n-1] = 1
		inUse.Add(buf.Size())
		defer func() { inUse.Add(-buf.Size()); buf.Release() }()
	}
	pause()
	if part, err := r.Split(extra / 2); err != nil {
		t.Error(err)
	} else {
		keeper.keep(part)
	}
}

// keeper stands for idle circuits.
type keeper struct {
	budget *Budget
	mu     sync.Mutex
	kept   []*Reservation
}

func (k *keeper) keep(r *Reservation) {
	k.mu.Lock()
	k.kept = append(k.kept, r)
	k.mu.Unlock()
	k.budget.Reclaimable()
}

func (k *keeper) reclaim(need int64) (freed int64) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.kept) > 0 && freed < need {
		freed += k.kept[0].Bytes()
		k.kept[0].Close()
		k.kept = k.kept[1:]
	}
	return freed
}

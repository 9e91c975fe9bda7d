package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
)

// sizes are what a circuit asks of the memory.
type sizes struct {
	info      circuit.Info
	mapped    int64 // bytes of the circuit's files that are mapped while it is open
	footprint gpu.Footprint
}

// A resident is a circuit that is loaded, or being loaded.
type resident struct {
	sizes
	ref     circuit.Ref
	circuit *circuit.Circuit
	key     gpu.Key
	memory  claim
	checks  checks

	ready chan struct{} // closed when the fields above and err are set
	err   error         // why loading failed; the resident is out of the table then

	users int    // of the table's lock, as is used
	used  uint64 // when the last user left, by the table's clock
}

// residency is the table of the circuits that are loaded. Idle ones go, the least recently used first, when their memory is needed.
type residency struct {
	engine *Engine

	mu      sync.Mutex
	table   map[circuit.Ref]*resident
	leaving map[*resident]bool // being unloaded: their memory comes back soon
	clock   uint64
	unloads sync.WaitGroup
}

func newResidency(e *Engine) *residency {
	return &residency{engine: e, table: make(map[circuit.Ref]*resident), leaving: make(map[*resident]bool)}
}

// errEvicted says that a circuit isn't loaded any more.
var errEvicted = errors.New("the circuit isn't loaded")

func (t *residency) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.table)
}

// refs are the circuits in the table, by name.
func (t *residency) refs() []circuit.Ref {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Keys(t.table), func(a, b circuit.Ref) int { return cmp.Compare(a.String(), b.String()) })
}

// find returns what is known of a circuit that is loaded.
func (t *residency) find(ref circuit.Ref) (sizes, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.table[ref]; r != nil {
		return r.sizes, true
	}
	return sizes{}, false
}

// use returns the loaded circuit, which stays so until done is called for it. A circuit that isn't loaded yet is loaded into
// memory, which is the resident's then, and the caller's else; without memory (nil) the error is errEvicted.
// A load that another caller began, and that failed, is errEvicted too: the failure may have been that caller's.
func (t *residency) use(ctx context.Context, s sizes, memory *claim) (*resident, error) {
	ref := s.info.Ref()
	t.mu.Lock()
	r := t.table[ref]
	if r != nil {
		r.users++
		t.mu.Unlock()
		return r, t.await(ctx, r)
	}
	if memory == nil {
		t.mu.Unlock()
		return nil, errEvicted
	}
	r = &resident{sizes: s, ref: ref, memory: *memory, ready: make(chan struct{}), users: 1}
	t.table[ref] = r
	t.mu.Unlock()

	r.err = t.load(ctx, r)
	if r.err != nil {
		t.mu.Lock()
		delete(t.table, ref)
		t.mu.Unlock()
		r.memory.close()
	}
	close(r.ready)
	return r, r.err
}

// await waits until another caller has loaded r.
func (t *residency) await(ctx context.Context, r *resident) error {
	select {
	case <-r.ready:
	case <-ctx.Done():
		t.done(r)
		return context.Cause(ctx)
	}
	if r.err != nil {
		return errEvicted
	}
	return nil
}

// load opens the circuit and loads its key on the device. What that takes is on the trace of the job that had to wait for it.
func (t *residency) load(ctx context.Context, r *resident) (err error) {
	ctx, span := t.engine.config.Tracer.Start(ctx, "load", trace.WithAttributes(
		attribute.String("pinion.circuit", r.ref.String()),
		attribute.Int64("pinion.bytes", r.memory.host.Bytes()-r.footprint.Load),
	))
	loading := stretch{span, time.Now()}
	defer func() { loading.end(err) }()
	opened, err := t.engine.config.Catalogue.Open(r.ref)
	if err != nil {
		return err
	}
	key, err := t.engine.config.Executor.Load(ctx, opened.Key())
	if errors.Is(err, gpu.ErrMemory) && t.engine.memory != nil {
		t.reclaimDevice(r.footprint.Key) // others have some of the device: leave room for the next who tries
	}
	if err != nil {
		return errors.Join(t.engine.deviceError(ctx, err), opened.Close())
	}
	r.circuit, r.key = opened, key
	r.memory.host.Release(r.footprint.Load)
	t.engine.count.loads.Add(1)
	return nil
}

// done ends a use.
func (t *residency) done(r *resident) {
	t.mu.Lock()
	r.users--
	t.clock++
	r.used = t.clock
	idle := r.users == 0
	t.mu.Unlock()
	if idle {
		t.engine.config.Budget.Reclaimable()
		if t.engine.memory != nil {
			t.engine.memory.Reclaimable()
		}
	}
}

// reclaimHost and reclaimDevice unload idle circuits until need bytes are given back, or will be soon.
func (t *residency) reclaimHost(need int64) int64 {
	return t.reclaim(need, func(r *resident) int64 { return r.memory.host.Bytes() })
}

func (t *residency) reclaimDevice(need int64) int64 {
	return t.reclaim(need, func(r *resident) int64 { return r.memory.device.Bytes() })
}

func (t *residency) reclaim(need int64, bytes func(*resident) int64) (freed int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for r := range t.leaving {
		freed += bytes(r)
	}
	for _, r := range t.idle() {
		if freed >= need {
			break
		}
		freed += bytes(r)
		t.engine.count.evictions.Add(1)
		t.unload(r)
	}
	return freed
}

// idle returns the circuits without users, the least recently used first. The table is locked.
func (t *residency) idle() []*resident {
	var idle []*resident
	for _, r := range t.table {
		if r.users == 0 {
			idle = append(idle, r)
		}
	}
	slices.SortFunc(idle, func(a, b *resident) int { return cmp.Compare(a.used, b.used) })
	return idle
}

// unload takes an idle circuit out of the table. The device may be busy, so the rest goes on beside, and unloadAll waits for it.
// The table is locked.
func (t *residency) unload(r *resident) {
	delete(t.table, r.ref)
	t.leaving[r] = true
	t.unloads.Go(func() {
		defer t.left(r)
		if err := t.engine.config.Executor.Unload(context.Background(), r.key); err != nil && !errors.Is(err, gpu.ErrClosed) {
			t.engine.count.deviceFaults.Add(1)
		}
		// The mapping goes even if the device couldn't be told: what it holds of the key is a copy of its own, or dies with it.
		_ = r.circuit.Close()
	})
}

func (t *residency) left(r *resident) {
	r.memory.close()
	t.mu.Lock()
	delete(t.leaving, r)
	t.mu.Unlock()
}

// unloadAll unloads every circuit, and waits until that is done. No job may be left.
func (t *residency) unloadAll() {
	t.mu.Lock()
	for _, r := range t.idle() {
		t.unload(r)
	}
	t.mu.Unlock()
	t.unloads.Wait()
}

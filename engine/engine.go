package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// An Engine proves jobs. It is safe for concurrent use.
type Engine struct {
	config   Config
	device   gpu.Info
	memory   *pool.Budget // the device's own; nil when it works in host memory
	circuits *residency
	workers  chan struct{} // holds a token for each job in witness or synthesis
	count    counters

	mu      sync.Mutex
	running int
	closed  bool
	drained chan struct{} // closed when the engine is closed and no job is left
}

// New starts an engine.
func New(config Config) *Engine {
	config = config.withDefaults()
	e := &Engine{
		config:  config,
		device:  config.Executor.Info(),
		workers: make(chan struct{}, config.Workers),
		drained: make(chan struct{}),
	}
	if e.device.Memory > 0 {
		e.memory = pool.NewBudget(e.device.Memory)
	}
	e.circuits = newResidency(e)
	config.Budget.OnPressure(e.circuits.reclaimHost)
	if e.memory != nil {
		e.memory.OnPressure(e.circuits.reclaimDevice)
	}
	return e
}

// Prove is Admit, Job.Prove and Job.Close.
func (e *Engine) Prove(ctx context.Context, req Request) (*Outcome, error) {
	job, err := e.Admit(ctx, req)
	if err != nil {
		return nil, err
	}
	defer job.Close()
	return job.Prove(ctx)
}

// Preload loads a circuit, so that its first job doesn't wait for that. It stays until its memory is needed elsewhere.
func (e *Engine) Preload(ctx context.Context, ref circuit.Ref) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.leave()
	info, err := e.resolve(ref)
	if err != nil {
		return err
	}
	lease, err := e.acquire(ctx, info.Ref(), func(sizes) cost { return cost{} })
	if err != nil {
		return err
	}
	lease.release()
	return nil
}

// Batch is how many witnesses of a circuit the device computes at once; 0 of one that isn't loaded.
func (e *Engine) Batch(ref circuit.Ref) int {
	if s, loaded := e.circuits.find(ref); loaded {
		return s.footprint.Batch
	}
	return 0
}

// Healthy returns nil, or why the device isn't trusted any more: jobs are refused then, with a device_fault that others may retry.
func (e *Engine) Healthy() error {
	return e.config.Executor.Healthy()
}

// enter counts a job in, leave counts it out.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return fail(CodeInternal, true, ErrClosed)
	}
	e.running++
	return nil
}

func (e *Engine) leave() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running--
	if e.closed && e.running == 0 {
		close(e.drained)
	}
}

// Close stops admitting, waits for the jobs that were admitted, and unloads all circuits; the memory that they took is back then.
// If ctx ends first it returns its error, and the jobs go on; it may be called again.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	if !e.closed {
		e.closed = true
		if e.running == 0 {
			close(e.drained)
		}
	}
	e.mu.Unlock()

	select {
	case <-e.drained:
	case <-ctx.Done():
		return fmt.Errorf("engine: %d jobs are still running: %w", e.Stats().Running, context.Cause(ctx))
	}
	e.circuits.unloadAll()
	return nil
}

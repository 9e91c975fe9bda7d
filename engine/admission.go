package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/pool"
)

// Admit resolves the request's circuit, waits until all the memory that the job will need is reserved (first come, first served),
// and loads the circuit if need be. A job that can never be served here is refused at once. The caller must Close the job.
func (e *Engine) Admit(ctx context.Context, req Request) (*Job, error) {
	j := &Job{engine: e, request: req, started: time.Now(), attempts: 1}
	if err := e.enter(); err != nil {
		return nil, err
	}
	err := j.admit(ctx)
	if err != nil {
		j.Close()
		return nil, err
	}
	return j, nil
}

func (j *Job) admit(ctx context.Context) error {
	ctx, phase := j.enter(ctx, PhaseAdmit, 0)
	err := j.resolve()
	j.describe(phase)
	if err == nil {
		err = j.acquire(ctx, len(j.request.Witnesses))
	}
	j.phases.Admit += phase.end(err)
	return err
}

// resolve checks the request and finds its circuit.
func (j *Job) resolve() error {
	if err := j.engine.Healthy(); err != nil {
		return fail(CodeDeviceFault, true, err)
	}
	info, err := j.engine.resolve(j.request.Circuit)
	if err != nil {
		return err
	}
	j.info = info
	if len(j.request.Witnesses) == 0 {
		return fail(CodeInvalidWitness, false, errors.New("the job has no witness: expected at least one"))
	}
	for i, w := range j.request.Witnesses {
		switch {
		case (w.Open == nil) == (w.Inputs == nil):
			return fail(CodeInvalidWitness, false, fmt.Errorf("witness %d: expected a .wtns file or inputs, and only one of them", i))
		case w.Inputs != nil && !info.HasWasm:
			return fail(CodeCalculator, false, fmt.Errorf("witness %d: circuit %s: %w", i, info.Name, circuit.ErrNoCalculator))
		}
	}
	return nil
}

// resolve finds a circuit that may be served. One that is loaded is found even if its files are gone meanwhile.
func (e *Engine) resolve(ref circuit.Ref) (circuit.Info, error) {
	info, err := e.lookup(ref)
	switch {
	case errors.Is(err, circuit.ErrUnknownCircuit):
		return info, fail(CodeUnknownCircuit, true, err)
	case errors.Is(err, circuit.ErrDigestMismatch):
		return info, fail(CodeWrongDigest, true, err)
	case err != nil:
		return info, fail(CodeInternal, true, err)
	case info.Forgeable && !slices.Contains(e.config.AllowForgeable, info.Name):
		return info, fail(CodeForgeable, false, fmt.Errorf("circuit %s: its key has no phase-2 contribution (gamma = delta), "+
			"so that anybody can forge proofs; it isn't allowed by name", info.Name))
	}
	return info, nil
}

func (e *Engine) lookup(ref circuit.Ref) (circuit.Info, error) {
	if s, ok := e.circuits.find(ref); ok {
		return s.info, nil
	}
	info, err := e.config.Catalogue.Info(ref)
	if err != nil {
		return circuit.Info{}, err
	}
	return *info, nil
}

// acquire takes all that n proofs of the job need.
func (j *Job) acquire(ctx context.Context, n int) error {
	lease, err := j.engine.acquire(ctx, j.info.Ref(), func(s sizes) cost { return j.cost(s, n) })
	if err != nil {
		return err
	}
	j.lease = lease
	return nil
}

// cost is what n proofs need beside the circuit. Buffers are for one task: later tasks of the job use them again.
func (j *Job) cost(s sizes, n int) cost {
	var c cost
	for range min(n, s.footprint.Batch) {
		c.buffers = append(c.buffers, j.engine.slotSizes(s.info.Vars, s.info.Domain)...)
	}
	c.host = j.calculatorMemory()
	return c.plus(j.engine.onDevice(s.footprint.Task))
}

// calculatorMemory is what calculating the job's witnesses, one after the other, takes.
func (j *Job) calculatorMemory() int64 {
	calculated := func(w Witness) bool { return w.Inputs != nil }
	if slices.ContainsFunc(j.request.Witnesses, calculated) {
		return j.engine.config.CalculatorMemory
	}
	return 0
}

// onDevice is the cost of memory that the device works in.
func (e *Engine) onDevice(bytes int64) cost {
	if e.memory == nil {
		return cost{host: bytes}
	}
	return cost{device: bytes}
}

// keyCost is the cost of loading a key; Footprint.Load of it goes back once it is loaded.
func (e *Engine) keyCost(f gpu.Footprint) cost {
	return e.onDevice(f.Key).plus(cost{host: f.Host + f.Load})
}

// slotSizes are the lengths of the buffers that one witness takes.
func (e *Engine) slotSizes(vars, domain int) []int {
	if e.config.Synthesis == gpu.OnHost {
		return []int{vars * groth16.ScalarSize, domain * groth16.ScalarSize, domain * groth16.ScalarSize}
	}
	return []int{vars * groth16.ScalarSize}
}

// A lease is what a job works with: memory, and a circuit that stays loaded meanwhile.
type lease struct {
	engine   *Engine
	resident *resident // nil once released
	memory   claim
}

// acquire waits for the memory that want says, and for the circuit's if that isn't loaded, in one reservation.
//
// The circuit isn't held loaded during the wait: two jobs that each waited for memory that the other's circuit takes would wait for ever.
// So it may be gone at the end of the wait. The next reservation has room for it then, come what may.
func (e *Engine) acquire(ctx context.Context, ref circuit.Ref, want func(sizes) cost) (*lease, error) {
	s, loaded, err := e.measure(ref)
	if err != nil {
		return nil, e.admissionError(ctx, ref, err)
	}
	job, own := want(s), e.keyCost(s.footprint).plus(cost{host: s.mapped})
	if err := e.fits(job.plus(own)); err != nil {
		return nil, e.admissionError(ctx, ref, err)
	}
	for {
		l, err := e.try(ctx, s, job, own, loaded)
		if err == nil {
			return l, nil
		}
		if !errors.Is(err, errEvicted) {
			return nil, e.admissionError(ctx, ref, err)
		}
		loaded = false
	}
}

// try reserves the job's memory, with room for the circuit unless that is loaded, and gets hold of the circuit.
func (e *Engine) try(ctx context.Context, s sizes, job, own cost, loaded bool) (*lease, error) {
	whole := job
	if !loaded {
		whole = job.plus(own)
	}
	memory, err := e.reserve(ctx, whole)
	if err != nil {
		return nil, err
	}
	var room *claim
	if !loaded {
		part, err := memory.split(own)
		if err != nil {
			memory.close()
			return nil, err
		}
		room = &part
	}
	r, err := e.circuits.use(ctx, s, room)
	if room != nil && (r == nil || r.memory != *room) {
		room.close() // it was loaded meanwhile
	}
	if err != nil {
		memory.close()
		return nil, err
	}
	return &lease{engine: e, resident: r, memory: memory}, nil
}

// measure tells what the circuit takes, and whether it is loaded. One that isn't is opened for that, and closed again: it isn't
// accounted yet.
func (e *Engine) measure(ref circuit.Ref) (s sizes, loaded bool, err error) {
	if s, ok := e.circuits.find(ref); ok {
		return s, true, nil
	}
	c, err := e.config.Catalogue.Open(ref)
	if err != nil {
		return sizes{}, false, err
	}
	footprint, err := e.config.Executor.Footprint(c.Key())
	s = sizes{info: c.Info, mapped: c.MappedBytes(), footprint: footprint}
	return s, false, errors.Join(err, c.Close())
}

// release gives everything back. It may be called more than once.
func (l *lease) release() {
	if l == nil || l.resident == nil {
		return
	}
	l.memory.close()
	l.engine.circuits.done(l.resident)
	l.resident = nil
}

func (e *Engine) admissionError(ctx context.Context, ref circuit.Ref, err error) error {
	var exceeds *pool.ExceedsError
	switch {
	case errors.As(err, &exceeds):
		return within("circuit "+ref.Name, CodeTooLarge, true, err)
	case errors.Is(err, circuit.ErrUnknownCircuit):
		return fail(CodeUnknownCircuit, true, err)
	case errors.Is(err, circuit.ErrDigestMismatch):
		return fail(CodeWrongDigest, true, err)
	}
	if stop := interrupted(ctx); stop != nil {
		return stop
	}
	return within("circuit "+ref.Name, CodeInternal, true, err)
}

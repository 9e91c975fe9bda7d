package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// An attempt makes proofs with the job's lease: task after task, each of as many witnesses as the device computes at once. The executor
// may compute a task together with other jobs'.
type attempt struct {
	job     *Job
	slots   []slot
	flights []*flight
	wrong   []int
}

// A flight is a task on its way through the executor.
type flight struct {
	witnesses []int // indexes
	publics   []groth16.Public
	ticket    *gpu.Ticket
	submitted time.Time
	wait      stretch
	landed    bool
}

// attempt makes the proofs of the given witnesses, and returns those of them whose proof doesn't verify. It releases the lease.
// The next task is made ready while the device works on the one before.
func (j *Job) attempt(ctx context.Context, witnesses []int) (wrong []int, err error) {
	defer j.lease.release()
	a := &attempt{job: j}
	defer a.end(ctx)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // before end, so that what hasn't begun never does

	tasks := slices.Collect(slices.Chunk(witnesses, j.lease.resident.footprint.Batch))
	for i, task := range tasks {
		if err := a.launch(ctx, task, i == len(tasks)-1); err != nil {
			return nil, err
		}
		if i > 0 {
			if err := a.land(ctx, a.flights[i-1]); err != nil {
				return nil, err
			}
		}
	}
	last := a.flights[len(a.flights)-1]
	if err := a.land(ctx, last); err != nil {
		return nil, err
	}
	return a.wrong, nil
}

// end waits until the device has left the buffers alone, and gives them back.
func (a *attempt) end(ctx context.Context) {
	for _, f := range a.flights {
		if _, timings, err := f.ticket.Result(); !f.landed {
			a.record(ctx, f, timings, err)
		}
	}
	a.releaseSlots()
}

func (a *attempt) releaseSlots() {
	for _, s := range a.slots {
		s.release()
	}
	a.slots = nil
}

// launch fills the slots and submits a task. It occupies a synthesis worker, also while the executor's queue is full:
// so no more witnesses lie ready than there are workers and places in that queue.
func (a *attempt) launch(ctx context.Context, witnesses []int, last bool) error {
	j := a.job
	if n := len(a.flights); n > 0 {
		<-a.flights[n-1].ticket.Uploaded()
	}
	if err := j.takeWorker(ctx); err != nil {
		return err
	}
	defer j.engine.giveWorker()

	if a.slots == nil {
		slots, err := j.engine.newSlots(j.lease, len(witnesses))
		if err != nil {
			return fail(CodeInternal, true, err)
		}
		a.slots = slots
	}
	f := &flight{witnesses: witnesses}
	task := &gpu.Task{Key: j.lease.resident.key}
	for i, witness := range witnesses {
		if err := a.fill(ctx, a.slots[i], witness); err != nil {
			return err
		}
		words := a.slots[i].witness.Bytes()
		f.publics = append(f.publics, groth16.PublicFromWitness(words, j.info.Public))
		task.Inputs = append(task.Inputs, a.slots[i].input())
	}
	if last {
		j.lease.memory.host.Release(j.calculatorMemory()) // no witness is left to calculate
	}
	return a.submit(ctx, f, task)
}

func (a *attempt) submit(ctx context.Context, f *flight, task *gpu.Task) (err error) {
	waiting, wait := a.job.enter(ctx, PhaseWait, f.witnesses[0])
	f.wait, f.submitted = wait, wait.started
	f.ticket, err = a.job.engine.config.Executor.Submit(waiting, task)
	if err != nil {
		err = a.job.engine.deviceError(ctx, err)
		a.job.phases.Wait += wait.end(err)
		return err
	}
	a.flights = append(a.flights, f)
	return nil
}

// fill makes a witness and, where the device doesn't, what synthesis makes of it.
func (a *attempt) fill(ctx context.Context, s slot, witness int) error {
	j := a.job
	words := s.witness.Bytes()
	decoding, phase := j.enter(ctx, PhaseWitness, witness)
	err := j.decode(decoding, witness, words)
	if err == nil && j.attempts > 1 {
		err = j.diagnose(decoding, witness, words)
	}
	j.phases.Witness += phase.end(err)
	if err != nil || s.a == nil {
		return err
	}
	synthesizing, phase := j.enter(ctx, PhaseSynthesis, witness)
	err = j.lease.resident.circuit.Key().Synthesize(synthesizing, words, s.a.Bytes(), s.b.Bytes())
	if err != nil {
		err = j.engine.hostError(ctx, fmt.Errorf("synthesis of witness %d: %w", witness, err))
	}
	j.phases.Synthesis += phase.end(err)
	return err
}

// land waits for a task's proofs and checks them. The buffers go back as soon as the device has its own copy, unless another task
// fills them again.
func (a *attempt) land(ctx context.Context, f *flight) error {
	j := a.job
	<-f.ticket.Begun()
	if ctx.Err() == nil {
		j.observe(PhaseDevice, f.witnesses[0])
	}
	<-f.ticket.Uploaded()
	if f == a.flights[len(a.flights)-1] {
		a.releaseSlots()
	}
	proofs, timings, err := f.ticket.Result()
	if err == nil && len(proofs) != len(f.witnesses) {
		err = fmt.Errorf("the device made %d proofs of %d witnesses", len(proofs), len(f.witnesses))
	}
	if err != nil {
		err = j.engine.deviceError(ctx, err)
	}
	a.record(ctx, f, timings, err)
	if err != nil {
		return err
	}
	return a.check(ctx, f, proofs, timings.Batch)
}

// record ends the spans of a flight with the times that the executor took: a later task may have kept the job from looking.
func (a *attempt) record(ctx context.Context, f *flight, t gpu.Timings, err error) {
	f.landed = true
	begun := f.submitted.Add(t.Wait)
	done := begun.Add(t.Total)
	if err != nil {
		done = time.Now()
	}
	a.job.phases.Wait += f.wait.endAt(begun, nil)
	_, device := a.job.begin(ctx, PhaseDevice, f.witnesses[0], begun)
	device.span.SetAttributes(
		attribute.String("pinion.device", a.job.engine.device.Name),
		attribute.String("pinion.synthesis", string(a.job.engine.config.Synthesis)),
		attribute.Int("pinion.proofs", len(f.witnesses)),
		attribute.Int("pinion.batch", t.Batch),
	)
	for name, took := range t.Phases() {
		device.span.SetAttributes(attribute.Int64("pinion."+name+"_us", took.Microseconds()))
	}
	a.job.phases.Device += device.endAt(done, err)
}

// takeWorker waits for a synthesis worker.
func (j *Job) takeWorker(ctx context.Context) error {
	started := time.Now()
	defer func() { j.phases.Wait += time.Since(started) }()
	if err := interrupted(ctx); err != nil {
		return err
	}
	select {
	case j.engine.workers <- struct{}{}:
		return nil
	case <-ctx.Done():
		return interrupted(ctx)
	}
}

func (e *Engine) giveWorker() { <-e.workers }

// deviceError says what an error of the executor means to the job.
func (e *Engine) deviceError(ctx context.Context, err error) error {
	var format *circuit.FormatError
	switch {
	case errors.Is(err, gpu.ErrClosed) || errors.Is(err, gpu.ErrAgain) || errors.As(err, &format):
		return fail(CodeInternal, true, err)
	case errors.Is(err, gpu.ErrMemory):
		return fail(CodeMemory, true, err)
	case errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return e.hostError(ctx, err)
	}
	e.count.deviceFaults.Add(1)
	return fail(CodeDeviceFault, true, err)
}

// hostError says what an error of this machine means to the job: most likely that the job was told to stop.
func (e *Engine) hostError(ctx context.Context, err error) error {
	if stop := interrupted(ctx); stop != nil {
		return stop
	}
	return fail(CodeInternal, true, err)
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
)

// A Job is a request that was admitted. Its methods are called by one goroutine at a time.
type Job struct {
	engine  *Engine
	request Request
	info    circuit.Info
	started time.Time
	leave   sync.Once

	attempts  int
	lease     *lease
	results   []Result
	satisfied bool // the witness is known to satisfy the circuit's constraints
	phases    Phases
}

// Prove makes the job's proofs and checks each of them. It is called once.
//
// When ctx ends, it returns without an outcome: promptly as long as the device hasn't begun; later, once the device is done,
// since that works with the job's memory.
//
// A key has no matrix C, so a proof of a bad witness and one that a device got wrong look alike. The proof is made once more,
// with the witness checked against the circuit's constraints if they are at hand. If it doesn't verify again, the device shows on a
// circuit with a known answer whose fault it is.
func (j *Job) Prove(ctx context.Context) (*Outcome, error) {
	defer j.lease.release()
	if err := j.prove(ctx); err != nil {
		return nil, err
	}
	if err := interrupted(ctx); err != nil {
		return nil, err
	}
	j.phases.Total = time.Since(j.started)
	j.engine.count.proofs.Add(int64(len(j.results)))
	return &Outcome{
		Circuit:   j.info.Ref(),
		Curve:     j.info.Curve,
		Proofs:    j.results,
		Device:    j.engine.device.Name,
		Synthesis: j.engine.config.Synthesis,
		Attempts:  j.attempts,
		Phases:    j.phases,
	}, nil
}

// Close gives back all that the job holds. It may be called more than once.
func (j *Job) Close() {
	j.lease.release()
	j.leave.Do(j.engine.leave)
}

func (j *Job) prove(ctx context.Context) error {
	all := make([]int, len(j.request.Witnesses))
	for i := range all {
		all[i] = i
	}
	j.results = make([]Result, len(all))
	wrong, err := j.attempt(ctx, all)
	for errors.Is(err, gpu.ErrAgain) { // each time another job is at its end
		wrong, err = j.again(ctx, all)
	}
	if err != nil || len(wrong) == 0 {
		return err
	}
	j.attempts++
	j.engine.count.again.Add(1)
	wrong, err = j.again(ctx, wrong)
	if err != nil {
		return err
	}
	if len(wrong) == 0 {
		j.engine.count.deviceFaults.Add(1) // it got it wrong the first time
		return nil
	}
	return j.verdict(ctx, wrong[0])
}

// again makes proofs once more, and returns those that don't verify. The first attempt's memory went back long ago, so this one waits
// for its own.
func (j *Job) again(ctx context.Context, witnesses []int) (wrong []int, err error) {
	admitting, phase := j.enter(ctx, PhaseAdmit, witnesses[0])
	err = j.acquire(admitting, len(witnesses))
	j.phases.Admit += phase.end(err)
	if err != nil {
		return nil, err
	}
	return j.attempt(ctx, witnesses)
}

// verdict says whose fault it is that a proof didn't verify twice.
func (j *Job) verdict(ctx context.Context, proof int) error {
	fault, err := j.engine.examine(ctx, j.info.Curve)
	switch {
	case err != nil:
		return err
	case fault != nil:
		j.engine.count.deviceFaults.Add(1)
		j.engine.config.Executor.Condemn(fault)
		return fail(CodeDeviceFault, true,
			fmt.Errorf("proof %d doesn't verify, and the device fails on a circuit whose answer is known: %w", proof, fault))
	case j.satisfied:
		j.engine.count.deviceFaults.Add(1)
		return fail(CodeDeviceFault, true, fmt.Errorf("proof %d doesn't verify, although the witness satisfies the circuit's constraints: "+
			"the device fails on it, or the constraints belong to another key", proof))
	}
	return fail(CodeInvalidWitness, false, fmt.Errorf("witness %d doesn't satisfy circuit %s: "+
		"no proof of it verifies, and the device is right where the answer is known", proof, j.info.Name))
}

// diagnose checks a witness against the circuit's constraints, if they are at hand.
func (j *Job) diagnose(ctx context.Context, proof int, words []byte) error {
	r1cs := j.lease.resident.circuit.R1CS()
	if r1cs == nil {
		return nil
	}
	err := r1cs.Check(ctx, words)
	var unsatisfied *circuit.UnsatisfiedError
	switch {
	case err == nil:
		j.satisfied = true
		return nil
	case errors.As(err, &unsatisfied):
		return fail(CodeUnsatisfied, false, fmt.Errorf("witness %d: %w", proof, err))
	}
	if stop := interrupted(ctx); stop != nil {
		return stop
	}
	return fail(CodeInternal, true, fmt.Errorf("witness %d couldn't be checked: %w", proof, err))
}

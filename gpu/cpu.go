package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// NewCPU returns the device that proves on the cores of the host, all of them for each proof: it takes one task at a time, and the
// proofs of a task one after the other.
func NewCPU() Device { return &cpu{} }

type cpu struct {
	runs sync.WaitGroup
}

func (c *cpu) Info() Info {
	name := fmt.Sprintf("cpu (%d threads)", runtime.GOMAXPROCS(0))
	return Info{Name: name, Kind: CPU, Synthesis: OnHost, Overlap: 1}
}

// Footprint accounts what a proof needs with its key: the prover keeps it from one proof to the next, and there is one of it since
// there is one proof at a time.
func (c *cpu) Footprint(pk *groth16.ProvingKey) (Footprint, error) {
	prover, proof, err := pk.ProverBytes()
	return Footprint{Key: prover + proof, Batch: 1}, err
}

func (c *cpu) Load(pk *groth16.ProvingKey) (Key, error) {
	footprint, err := c.Footprint(pk)
	if err != nil {
		return nil, err
	}
	p, err := groth16.NewProver(pk)
	if err != nil {
		return nil, err
	}
	return &cpuKey{prover: p, bytes: footprint.Key}, nil
}

type cpuKey struct {
	prover *groth16.Prover
	bytes  int64
}

func (k *cpuKey) Bytes() int64 { return k.bytes }

// collectFrom is how large a prover is that isn't left to the garbage collector's own time: its memory is promised to others.
const collectFrom = 64 << 20

// Unload drops the prover and all that it keeps.
func (k *cpuKey) Unload() error {
	k.prover = nil
	if k.bytes >= collectFrom {
		debug.FreeOSMemory()
	}
	return nil
}

func (c *cpu) Begin(t *Task) (Run, error) {
	k, ok := t.Key.(*cpuKey)
	if !ok {
		return nil, fmt.Errorf("gpu: key of another device: %T", t.Key)
	}
	r := &cpuRun{uploaded: newSignal(), done: newSignal()}
	c.runs.Go(func() { r.prove(k.prover, t.Inputs) })
	return r, nil
}

// Close waits for the runs.
func (c *cpu) Close() error {
	c.runs.Wait()
	return nil
}

type cpuRun struct {
	uploaded, done signal

	// Set before done fires.
	proofs  []*groth16.Proof
	timings Timings
	err     error
}

func (r *cpuRun) Uploaded() <-chan struct{} { return r.uploaded.fired }
func (r *cpuRun) Done() <-chan struct{}     { return r.done.fired }

func (r *cpuRun) Result() ([]*groth16.Proof, Timings, error) { return r.proofs, r.timings, r.err }

// prove makes the proofs of a task in order. The buffers may go back when the prover has read the last input.
func (r *cpuRun) prove(p *groth16.Prover, inputs []Input) {
	defer r.done.fire()
	defer r.uploaded.fire()
	start := time.Now()
	for i, in := range inputs {
		read := func() {}
		if i == len(inputs)-1 {
			read = r.uploaded.fire
		}
		r.err = guard(func() error { return r.one(p, in, read) })
		if r.err != nil {
			r.err = &InputError{Input: i, Err: r.err}
			return
		}
	}
	r.timings.Total = time.Since(start)
}

// one makes one proof and adds up its phases. A proof that has begun isn't cancelled: hence no context.
func (r *cpuRun) one(p *groth16.Prover, in Input, read func()) error {
	proof, phases, err := p.Prove(context.Background(), groth16.Input{Witness: in.Witness, A: in.A, B: in.B, Read: read})
	if _, panicked := errors.AsType[*groth16.PanicError](err); panicked {
		return fmt.Errorf("%w: %w", ErrFault, err)
	}
	if err != nil {
		return err
	}
	r.proofs = append(r.proofs, proof)
	r.timings.Synthesis += phases.Synthesis
	r.timings.NTT += phases.NTT
	r.timings.MSM += phases.MSM
	r.timings.Finish += phases.Finish
	return nil
}

package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// check verifies the proofs of a task. Whatever the verifier has against one, it doesn't leave.
func (a *attempt) check(ctx context.Context, f *flight, proofs []*groth16.Proof, batch int) error {
	j := a.job
	_, phase := j.enter(ctx, PhaseCheck, f.witnesses[0])
	errs := j.lease.resident.verify(proofs, f.publics, batch)
	var first error
	for i, witness := range f.witnesses {
		if errs != nil && errs[i] != nil {
			j.engine.count.wrong.Add(1)
			a.wrong = append(a.wrong, witness)
			first = errors.Join(first, fmt.Errorf("proof %d: %w", witness, errs[i]))
			continue
		}
		j.results[witness] = Result{Proof: proofs[i], Public: f.publics[i]}
	}
	j.phases.Check += phase.end(first)
	return interrupted(ctx)
}

// verify returns nil if all proofs are right, and else an error or nil for each. A proof that is alone in its job goes together with
// those of other jobs; batch is how many the device made with it.
func (r *resident) verify(proofs []*groth16.Proof, publics []groth16.Public, batch int) []error {
	key := r.circuit.VerifyingKey()
	if len(proofs) == 1 && batch > 1 {
		if err := r.checks.verify(key, proofs[0], publics[0], batch); err != nil {
			return []error{err}
		}
		return nil
	}
	return key.VerifyAll(proofs, publics)
}

const (
	// roundSize is how many proofs are verified together at most: four times as many would take a fifth less, on fewer cores.
	roundSize = 16
	// gatherTime is how long a proof waits for those that were made with it.
	gatherTime = time.Millisecond
)

// checks verifies together what the jobs of a circuit have at the same time, on the goroutine of one of them.
type checks struct {
	mu   sync.Mutex
	open *round // takes more proofs; nil: none is there
}

// round is proofs that are verified together.
type round struct {
	proofs  []*groth16.Proof
	publics []groth16.Public
	done    chan struct{} // closed when the fields below are set
	ended   bool          // else the verifier panicked
	errs    []error       // nil: all are right
}

// verify adds a proof to the open round, and sees that the round is verified once it is full or was open for long enough.
func (c *checks) verify(key *groth16.VerifyingKey, proof *groth16.Proof, public groth16.Public, batch int) error {
	r, i, full := c.enter(proof, public, min(batch, roundSize))
	if !full {
		timer := time.NewTimer(gatherTime)
		defer timer.Stop()
		select {
		case <-r.done:
		case <-timer.C:
			full = c.take(r)
		}
	}
	if full {
		r.verify(key)
	}
	<-r.done
	return r.err(i)
}

// enter returns the round that the proof is in, its place there, and whether that was the last one, so that the caller verifies.
func (c *checks) enter(proof *groth16.Proof, public groth16.Public, size int) (r *round, i int, full bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = &round{done: make(chan struct{})}
	}
	r, i = c.open, len(c.open.proofs)
	r.proofs, r.publics = append(r.proofs, proof), append(r.publics, public)
	if full = len(r.proofs) >= size; full {
		c.open = nil
	}
	return r, i, full
}

// take closes the round to others; false if somebody else has.
func (c *checks) take(r *round) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open != r {
		return false
	}
	c.open = nil
	return true
}

func (r *round) verify(key *groth16.VerifyingKey) {
	defer close(r.done)
	r.errs = key.VerifyAll(r.proofs, r.publics)
	r.ended = true
}

func (r *round) err(i int) error {
	switch {
	case !r.ended:
		return errors.New("not verified: the verifier panicked")
	case r.errs == nil:
		return nil
	}
	return r.errs[i]
}

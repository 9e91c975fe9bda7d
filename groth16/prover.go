package groth16

import (
	"context"
	"errors"
	"time"
)

// Prover makes proofs for one key. It is read-only after creation and safe for concurrent use.
type Prover struct{}

// Input is a witness to prove.
type Input struct {
	Witness []byte // Vars words of 32 bytes, canonical little-endian; the first is 1
	A, B    []byte // optional: what Synthesize made of it; the prover overwrites both
	Read    func() // if not nil, called once when the prover no longer reads the buffers above
}

// Phases are the wall times of the parts of a proof.
type Phases struct{ Synthesis, NTT, MSM, Finish time.Duration }

// NewProver prepares a prover (roots of unity). The key must outlive it.
func NewProver(pk *ProvingKey) (*Prover, error) { return nil, errors.New("not yet") }

// Synthesize computes a = A.w and b = B.w into Domain elements each: Montgomery, little-endian, zero padded. It uses all cores.
func (pk *ProvingKey) Synthesize(ctx context.Context, witness, a, b []byte) error {
	return errors.New("not yet")
}

// Prove makes a proof with fresh blinding.
func (p *Prover) Prove(ctx context.Context, in Input) (*Proof, Phases, error) {
	return nil, Phases{}, errors.New("not yet")
}

// ScratchBytes is the memory that one Prove call needs besides key and input.
func (p *Prover) ScratchBytes() int64 { return 0 }

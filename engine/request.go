package engine

import (
	"context"
	"io"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// A Request is one job: proofs of one circuit, in the order of the witnesses.
type Request struct {
	Circuit   circuit.Ref // with a zero digest: whatever circuit has the name now
	Witnesses []Witness   // at least one

	// Observe, if not nil, is called as the job enters a phase, from the goroutine that is in Admit or Prove.
	// It must return soon.
	Observe func(Event)
}

// A Witness is where the values of one proof come from: a .wtns file (Open), or the circuit's inputs (Inputs).
// Exactly one of the two is set.
type Witness struct {
	// Open returns the whole .wtns file as a stream of Size bytes. It may be called more than once: a proof that doesn't verify is
	// made again from a fresh stream, since the buffer serves others by then. An error of the stream, a wrong digest at its end say,
	// fails the job; if it is an *Error, with its code. The engine closes the stream.
	Open func(ctx context.Context) (io.ReadCloser, error)
	Size int64

	Inputs []byte // circom's inputs JSON
}

// An Outcome is what a job that succeeded leaves: as many results as the request has witnesses, in their order.
type Outcome struct {
	Circuit   circuit.Ref // with its digest
	Curve     groth16.Curve
	Proofs    []Result
	Device    string // name of the device
	Synthesis gpu.Synthesis
	Attempts  int // 1, or more when proofs had to be made again
	Phases    Phases
}

// A Result is one proof, verified, and the public signals that it is for.
type Result struct {
	Proof  *groth16.Proof
	Public groth16.Public
}

package queue

import "context"

// Handler does the proving. It is called from many goroutines, one for each
// job in hand.
//
// The context ends when the job is cancelled or past its deadline, when the
// lease is lost, and at shutdown; context.Cause says which. Until then
// Prove owns the delivery; it must not keep it or its bytes afterwards.
//
// Errors: [*Failure] ends the attempt as it says, [*Defer] hands the job on,
// any other error counts as an internal failure that is retried.
type Handler interface {
	Prove(ctx context.Context, d *Delivery) (*Outcome, error)
}

// Outcome is what a [Handler] makes of a job.
type Outcome struct {
	Proofs  []Proof // one for each witness, in order
	Device  string
	Timings Timings // Fetch to Check; the worker fills in the rest
}

package gpu

import "github.com/pinion-zk/pinion/groth16"

// Ticket is the holder's end of a submitted task. It is safe for concurrent use.
type Ticket struct{}

// Begun is closed when the task can no longer be cancelled, or is at its end.
func (t *Ticket) Begun() <-chan struct{} { panic("soon") }

// Uploaded is closed when the buffers of the inputs may be used again: they were copied, or the task is at its end.
func (t *Ticket) Uploaded() <-chan struct{} { panic("soon") }

// Done is closed when the task is at its end.
func (t *Ticket) Done() <-chan struct{} { panic("soon") }

// Result waits for the end and returns the proofs in the order of the inputs, or why there are none: the context's error if the
// task was cancelled, ErrClosed, ErrUnhealthy, or what the device said.
func (t *Ticket) Result() ([]*groth16.Proof, Timings, error) { panic("soon") }

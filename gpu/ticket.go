package gpu

import (
	"sync"

	"github.com/pinion-zk/pinion/groth16"
)

// Ticket is the holder's end of a submitted task. It is safe for concurrent use.
type Ticket struct {
	begun, uploaded, done signal

	// Set before done fires.
	proofs  []*groth16.Proof
	timings Timings
	err     error
}

// Begun is closed when the task can no longer be cancelled, or is at its end.
func (t *Ticket) Begun() <-chan struct{} { return t.begun.fired }

// Uploaded is closed when the buffers of the inputs may be used again: the device has its own copy, or the task is at its end.
func (t *Ticket) Uploaded() <-chan struct{} { return t.uploaded.fired }

// Done is closed when the task is at its end.
func (t *Ticket) Done() <-chan struct{} { return t.done.fired }

// Result waits for the end and returns the proofs in the order of the inputs, or why there are none: the context's error if the
// task was cancelled, ErrClosed, ErrUnhealthy, or what the device said.
func (t *Ticket) Result() ([]*groth16.Proof, Timings, error) {
	<-t.done.fired
	return t.proofs, t.timings, t.err
}

func newTicket() *Ticket {
	return &Ticket{begun: newSignal(), uploaded: newSignal(), done: newSignal()}
}

// end is called once.
func (t *Ticket) end(proofs []*groth16.Proof, timings Timings, err error) {
	t.proofs, t.timings, t.err = proofs, timings, err
	t.begun.fire()
	t.uploaded.fire()
	t.done.fire()
}

// signal is an event that happens once.
type signal struct {
	once  *sync.Once
	fired chan struct{}
}

func newSignal() signal { return signal{new(sync.Once), make(chan struct{})} }

func (s signal) fire() { s.once.Do(func() { close(s.fired) }) }

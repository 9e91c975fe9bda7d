package gpu

import (
	"errors"
	"fmt"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// ErrAgain is the end of a task that was computed together with one whose input is bad. Nothing is wrong with it: it may be submitted
// again. Its buffers may have gone back meanwhile, so that the executor can't do that itself.
var ErrAgain = errors.New("gpu: a task that was computed together with this one has a bad input")

// InputError says which input of a task can't be proven.
type InputError struct {
	Input int // index
	Err   error
}

func (e *InputError) Error() string { return fmt.Sprintf("input %d: %v", e.Input, e.Err) }

func (e *InputError) Unwrap() error { return e.Err }

// flight is what the device does at a time: the tasks of some requests, as one.
type flight struct {
	requests    []*request
	task        *Task
	run         Run
	begun, done time.Time
}

func newFlight(requests []*request) *flight {
	f := &flight{requests: requests, task: requests[0].task, begun: time.Now()}
	if len(requests) > 1 {
		f.task = &Task{Key: f.task.Key}
		for _, r := range requests {
			f.task.Inputs = append(f.task.Inputs, r.task.Inputs...)
		}
	}
	return f
}

// uploaded tells that the buffers may go back.
func (f *flight) uploaded() {
	for _, r := range f.requests {
		r.ticket.uploaded.fire()
	}
}

// end gives each request its own proofs, or the error.
func (f *flight) end(proofs []*groth16.Proof, timings Timings, err error) {
	first := 0
	for _, r := range f.requests {
		timings.Wait = f.begun.Sub(r.enqueued)
		inputs := len(r.task.Inputs)
		if err != nil {
			r.ticket.end(nil, timings, f.blame(err, first, inputs))
		} else {
			r.ticket.end(proofs[first:first+inputs:first+inputs], timings, nil)
		}
		first += inputs
	}
}

// blame is what an error of the flight means to the request whose inputs begin with first.
func (f *flight) blame(err error, first, inputs int) error {
	bad, known := errors.AsType[*InputError](err)
	switch {
	case !known || len(f.requests) == 1 || bad.Input < 0 || bad.Input >= len(f.task.Inputs):
		return err
	case bad.Input >= first && bad.Input < first+inputs:
		return &InputError{Input: bad.Input - first, Err: bad.Err}
	}
	return ErrAgain
}

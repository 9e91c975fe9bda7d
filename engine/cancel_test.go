package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/gpu"
)

var errLost = errors.New("lease lost")

// A job that is cancelled as it enters a phase ends with its caller's cause, and holds nothing.
func TestCancelInEachPhase(t *testing.T) {
	for _, phase := range []Phase{PhaseAdmit, PhaseWitness, PhaseSynthesis, PhaseWait, PhaseDevice, PhaseCheck} {
		t.Run(string(phase), func(t *testing.T) {
			r := newRig(t, withSynthesis(gpu.OnHost))
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			req := multiply(t, 3, 5)
			req.Observe = func(e Event) {
				if e.Phase == phase {
					cancel(errLost)
				}
			}
			err := r.fails(ctx, req, CodeCancelled, false)
			if !errors.Is(err, errLost) {
				t.Errorf("error %v, expected the cause of the cancellation", err)
			}
			r.idle()
			r.prove(multiply(t, 3, 5))
			r.idle()
		})
	}
}

// A job in the executor's queue is cancelled without waiting for the one on the device.
func TestCancelWhileTheDeviceIsBusy(t *testing.T) {
	gate, begun := make(chan struct{}), make(chan struct{}, 1)
	r := newRig(t, withDevice(func(d *device) { d.gate, d.begun, d.info.Overlap = gate, begun, 1 }))
	first := make(chan error, 1)
	go func() { _, err := r.Prove(context.Background(), multiply(t, 3, 5)); first <- err }()
	<-begun

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := multiply(t, 7, 9)
	req.Observe = func(e Event) {
		if e.Phase == PhaseWait {
			cancel()
		}
		if e.Phase == PhaseDevice {
			t.Error("a cancelled job got to the device")
		}
	}
	r.fails(ctx, req, CodeCancelled, false)
	gate <- struct{}{}
	if err := <-first; err != nil {
		t.Error(err)
	}
	r.idle()
}

// While a job waits for memory it is cancelled, or its deadline passes.
func TestStopWhileWaitingForMemory(t *testing.T) {
	r := newRig(t)
	all, err := r.budget.Reserve(context.Background(), r.budget.Total())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	req := multiply(t, 3, 5)
	req.Observe = func(Event) { cancel() }
	r.fails(ctx, req, CodeCancelled, false)

	ctx, cancel = context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	r.fails(ctx, multiply(t, 3, 5), CodeDeadline, false)
	all.Close()
	r.idle()
}

func TestDeadline(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithDeadline(context.Background(), time.Now().Add(-time.Second))
	defer cancel()
	err := r.fails(ctx, multiply(t, 3, 5), CodeDeadline, false)
	expectText(t, err, "deadline: context deadline exceeded")
	r.idle()
}

// A job that was admitted and given up holds nothing once it is closed, however often.
func TestCloseJobWithoutProving(t *testing.T) {
	r := newRig(t)
	job, err := r.Admit(context.Background(), multiply(t, 3, 5))
	if err != nil {
		t.Fatal(err)
	}
	job.Close()
	job.Close()
	r.idle()
	if n := r.Stats().Running; n != 0 {
		t.Errorf("%d jobs are running, expected none", n)
	}
}

// Close waits for the jobs that are running, and admits none.
func TestClose(t *testing.T) {
	gate, begun := make(chan struct{}), make(chan struct{}, 1)
	r := newRig(t, withDevice(func(d *device) { d.gate, d.begun = gate, begun }))
	running := make(chan error, 1)
	go func() { _, err := r.Prove(context.Background(), multiply(t, 3, 5)); running <- err }()
	<-begun

	ended, cancel := context.WithCancelCause(context.Background())
	cancel(errLost)
	err := r.Close(ended)
	expectText(t, err, "engine: 1 jobs are still running: lease lost")
	err = r.fails(context.Background(), multiply(t, 3, 5), CodeInternal, true)
	if !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, expected ErrClosed", err)
	}
	gate <- struct{}{}
	if err := r.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := <-running; err != nil {
		t.Errorf("the job that was running: %v", err)
	}
	if n := r.Stats().Circuits; n != 0 {
		t.Errorf("%d circuits are loaded after close", n)
	}
}

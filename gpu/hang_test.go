package gpu

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// A device that is idle, or late within what its inputs allow, is healthy; one that is silent for longer isn't.
func TestPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(2)
		e, key := start(t, d, 2)
		e.Patience(time.Minute)
		time.Sleep(time.Hour) // in fake time
		submit(t, e, t.Context(), key, 1, 2, 3)
		first := <-d.begun
		time.Sleep(2*time.Minute + 59*time.Second)
		submit(t, e, t.Context(), key, 4)
		second := <-d.begun // a sign of life
		time.Sleep(3 * time.Minute)
		first.finish(nil)
		time.Sleep(59 * time.Second)
		if err := e.Healthy(); err != nil {
			t.Errorf("late, but within what was allowed: %v", err)
		}
		second.finish(nil)
		time.Sleep(time.Hour)
		if err := e.Healthy(); err != nil {
			t.Errorf("idle: %v", err)
		}
		third := submit(t, e, t.Context(), key, 5)
		fourth := submit(t, e, t.Context(), key, 6)
		runs := []*fakeRun{<-d.begun, <-d.begun}
		waits := submit(t, e, t.Context(), key, 7)
		time.Sleep(2*time.Minute + time.Second)
		if err := e.Healthy(); !errors.Is(err, ErrHung) {
			t.Errorf("silent: %v, want ErrHung", err)
		}
		wantErr(t, waits, ErrUnhealthy)
		for i, ticket := range []*Ticket{third, fourth} {
			runs[i].finish(nil) // after all
			if _, _, err := ticket.Result(); err != nil {
				t.Errorf("a task that had begun: %v", err)
			}
		}
		if err := e.Healthy(); !errors.Is(err, ErrHung) {
			t.Errorf("after it has come back: %v, want ErrHung", err)
		}
		mustClose(t, e)
	})
}

// stuck is a device of which a call doesn't return.
type stuck struct {
	*fake
	release chan struct{}
}

func (d *stuck) Begin(t *Task) (Run, error) {
	<-d.release
	return d.fake.Begin(t)
}

func TestQ14CallThatDoesNotReturn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &stuck{newFake(1), make(chan struct{})}
		e, err := NewExecutor(d, 1)
		if err != nil {
			t.Fatal(err)
		}
		e.Patience(time.Minute)
		key, err := e.Load(t.Context(), &groth16.ProvingKey{})
		if err != nil {
			t.Fatal(err)
		}
		ticket := submit(t, e, t.Context(), key, 1)
		time.Sleep(59 * time.Second)
		if err := e.Healthy(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second)
		if err := e.Healthy(); !errors.Is(err, ErrHung) {
			t.Errorf("%v, want ErrHung", err)
		}
		close(d.release)
		(<-d.begun).finish(nil)
		if _, _, err := ticket.Result(); err != nil {
			t.Errorf("the task that had begun: %v", err)
		}
		mustClose(t, e)
	})
}

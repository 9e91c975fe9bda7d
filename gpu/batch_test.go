package gpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// batching starts an executor on a device that computes batch inputs at once, and has it busy with a task of its own.
func batching(t *testing.T, overlap, batch int) (*fake, *Executor, Key, *fakeRun) {
	t.Helper()
	d := newFake(overlap)
	d.batch = batch
	e, key := start(t, d, 100)
	submit(t, e, t.Context(), key, 200)
	return d, e, key, <-d.begun
}

func (r *fakeRun) names() (names []byte) {
	for _, in := range r.task.Inputs {
		names = append(names, in.Witness[0])
	}
	return names
}

func wantNames(t *testing.T, run *fakeRun, want ...byte) {
	t.Helper()
	if got := run.names(); !slices.Equal(got, want) {
		t.Errorf("inputs %v begin together, want %v", got, want)
	}
}

// 64 tasks of one input each become few, and each gets its own proof and its own times.
func TestSmallTasksAreComputedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, key, first := batching(t, 2, 16)
		var tickets []*Ticket
		for n := range byte(64) {
			tickets = append(tickets, submit(t, e, t.Context(), key, n))
			time.Sleep(time.Second)
		}
		first.finish(nil)
		runs := 0
		for range 4 {
			run := <-d.begun
			runs++
			time.Sleep(time.Minute)
			run.finish(nil)
		}
		for n, ticket := range tickets {
			proofs, timings, err := ticket.Result()
			if err != nil || len(proofs) != 1 || proofs[0].Curve != groth16.Curve(n) {
				t.Fatalf("task %d: %v, %v", n, proofs, err)
			}
			if timings.Batch != 16 || timings.Total < time.Minute {
				t.Errorf("task %d: timings %+v", n, timings)
			}
			if n == 0 && timings.Wait != 15*time.Second { // until the last of its batch came
				t.Errorf("the first waited %v", timings.Wait)
			}
		}
		if len(d.begun) != 0 || e.Queued() != 0 {
			t.Errorf("%d more runs after %d, %d tasks queued", len(d.begun), runs, e.Queued())
		}
		mustClose(t, e)
	})
}

// A device that is idle takes what is there. One that works lets a part of a batch wait for more, but not if that keeps others waiting.
func TestPartOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, key, first := batching(t, 2, 4)
		submit(t, e, t.Context(), key, 1)
		submit(t, e, t.Context(), key, 2)
		synctest.Wait()
		if len(d.begun) != 0 {
			t.Fatal("a part of a batch began beside another task")
		}
		first.finish(nil)
		second := <-d.begun
		wantNames(t, second, 1, 2)

		other, err := e.Load(t.Context(), &groth16.ProvingKey{Vars: 2})
		if err != nil {
			t.Fatal(err)
		}
		submit(t, e, t.Context(), key, 3)
		synctest.Wait()
		if len(d.begun) != 0 {
			t.Fatal("a part of a batch began beside another task")
		}
		submit(t, e, t.Context(), other, 4)
		third := <-d.begun
		wantNames(t, third, 3)
		second.finish(nil)
		synctest.Wait()
		if len(d.begun) != 0 {
			t.Fatal("a part of a batch began beside another task")
		}
		third.finish(nil)
		wantNames(t, <-d.begun, 4)
		mustCloseAfter(t, d, e)
	})
}

// A load that waits for its turn isn't kept waiting by a part of a batch either.
func TestLoadBehindPartOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, key, _ := batching(t, 2, 4)
		submit(t, e, t.Context(), key, 1)
		synctest.Wait()
		if _, err := e.Load(t.Context(), &groth16.ProvingKey{Vars: 2}); err != nil {
			t.Error(err)
		}
		wantNames(t, <-d.begun, 1)
		mustCloseAfter(t, d, e)
	})
}

// The oldest task is next, whatever its key: a circuit with many jobs doesn't starve one with few.
func TestBatchesInOrderOfTheOldest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, many, first := batching(t, 1, 3)
		few, err := e.Load(t.Context(), &groth16.ProvingKey{Vars: 2})
		if err != nil {
			t.Fatal(err)
		}
		for n := range byte(6) {
			submit(t, e, t.Context(), many, n)
			if n == 1 {
				submit(t, e, t.Context(), few, 100)
			}
		}
		submit(t, e, t.Context(), few, 101, 102, 103) // more than fits beside 100
		first.finish(nil)
		for _, want := range [][]byte{{0, 1, 2}, {100}, {3, 4, 5}, {101, 102, 103}} {
			run := <-d.begun
			wantNames(t, run, want...)
			run.finish(nil)
		}
		mustClose(t, e)
	})
}

// Inputs with a and b aren't computed together with those without.
func TestBatchesOfOneKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, key, first := batching(t, 1, 4)
		given := task(key, 2)
		given.Inputs[0].A, given.Inputs[0].B = []byte{1}, []byte{1}
		submit(t, e, t.Context(), key, 1)
		if _, err := e.Submit(t.Context(), given); err != nil {
			t.Fatal(err)
		}
		submit(t, e, t.Context(), key, 3)
		first.finish(nil)
		for _, want := range [][]byte{{1, 3}, {2}} {
			run := <-d.begun
			wantNames(t, run, want...)
			run.finish(nil)
		}
		mustClose(t, e)
	})
}

// A bad input is the end of its own task; the others may be submitted again.
func TestBadInputInABatch(t *testing.T) {
	bad := errors.New("not below the order")
	for name, fail := range map[string]func(*fake, *fakeRun){
		"when it begins": nil,
		"when it ends":   func(_ *fake, run *fakeRun) { run.finish(fmt.Errorf("prove: %w", &InputError{Input: 2, Err: bad})) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, e, key, first := batching(t, 1, 4)
				tickets := []*Ticket{
					submit(t, e, t.Context(), key, 1), submit(t, e, t.Context(), key, 2, 3), submit(t, e, t.Context(), key, 4),
				}
				if fail == nil {
					d.beginErr = &InputError{Input: 2, Err: bad}
				}
				first.finish(nil)
				if fail != nil {
					fail(d, <-d.begun)
				}
				wantErr(t, tickets[0], ErrAgain)
				wantErr(t, tickets[1], bad)
				wantErr(t, tickets[2], ErrAgain)
				if _, _, err := tickets[1].Result(); err.Error() != "input 1: not below the order" {
					t.Errorf("error %q, want the number within the task", err)
				}
				if e.Healthy() != nil {
					t.Error(e.Healthy())
				}
				mustClose(t, e)
			})
		})
	}
}

// A device that blames an input that there isn't blames none: the tasks are not submitted again and again.
func TestBadInputOutsideTheBatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, key, first := batching(t, 1, 4)
		one, two := submit(t, e, t.Context(), key, 1), submit(t, e, t.Context(), key, 2)
		first.finish(nil)
		bad := errors.New("bad")
		(<-d.begun).finish(&InputError{Input: 2, Err: bad})
		wantErr(t, one, bad)
		wantErr(t, two, bad)
		mustClose(t, e)
	})
}

// The end of one task's context takes it out of the batch, and leaves the others.
func TestCancelOneOfABatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, e, key, first := batching(t, 1, 4)
		ctx, cancel := context.WithCancel(t.Context())
		one, two, three := submit(t, e, t.Context(), key, 1), submit(t, e, ctx, key, 2), submit(t, e, t.Context(), key, 3)
		cancel()
		wantErr(t, two, context.Canceled)
		first.finish(nil)
		run := <-d.begun
		wantNames(t, run, 1, 3)
		close(run.uploaded)
		<-one.Uploaded()
		<-three.Uploaded()
		if is(one.Done()) {
			t.Error("done before the device is")
		}
		run.finish(nil)
		for _, ticket := range []*Ticket{one, three} {
			if _, _, err := ticket.Result(); err != nil {
				t.Error(err)
			}
		}
		mustClose(t, e)
	})
}

// mustCloseAfter finishes what has begun, and begins, and closes.
func mustCloseAfter(t *testing.T, d *fake, e *Executor) {
	t.Helper()
	closed := make(chan struct{})
	go func() { mustClose(t, e); close(closed) }()
	d.mu.Lock()
	runs := slices.Clone(d.runs)
	d.mu.Unlock()
	for _, run := range runs {
		if !is(run.done) {
			run.finish(nil)
		}
	}
	<-closed
}

// instant is a device that is done at once: what is left is the executor's own time.
type instant struct{ *fake }

func (d instant) Begin(t *Task) (Run, error) {
	r := &fakeRun{device: d.fake, task: t, uploaded: make(chan struct{}), done: make(chan struct{}), proofs: make([]*groth16.Proof, len(t.Inputs))}
	close(r.uploaded)
	close(r.done)
	return r, nil
}

// BenchmarkExecutor is the time that the executor adds to a task, with 64 submitters.
func BenchmarkExecutor(b *testing.B) {
	for _, batch := range []int{1, 64} {
		b.Run(fmt.Sprint("batch ", batch), func(b *testing.B) {
			d := instant{newFake(2)}
			d.batch = batch
			e, err := NewExecutor(d, 64)
			if err != nil {
				b.Fatal(err)
			}
			defer e.Close(context.Background())
			key, err := e.Load(b.Context(), &groth16.ProvingKey{Vars: 1})
			if err != nil {
				b.Fatal(err)
			}
			var submitters sync.WaitGroup
			work := make(chan struct{})
			for range 64 {
				submitters.Go(func() {
					for range work {
						ticket, err := e.Submit(b.Context(), task(key, 1))
						if err != nil {
							b.Error(err)
							continue
						}
						ticket.Result()
					}
				})
			}
			for b.Loop() {
				work <- struct{}{}
			}
			close(work)
			submitters.Wait()
		})
	}
}

package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

func wantCalls(t *testing.T, d *fake, want ...string) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Equal(d.calls, want) {
		t.Errorf("calls of the device:\n%q, want\n%q", d.calls, want)
	}
}

func wantErr(t *testing.T, ticket *Ticket, want error) {
	t.Helper()
	proofs, _, err := ticket.Result()
	if !errors.Is(err, want) || proofs != nil {
		t.Errorf("result %v, %v; want %v", proofs, err, want)
	}
	if !is(ticket.Begun()) || !is(ticket.Uploaded()) || !is(ticket.Done()) {
		t.Error("a task at its end has channels that are open")
	}
}

func mustClose(t *testing.T, e *Executor) {
	t.Helper()
	if err := e.Close(context.WithoutCancel(t.Context())); err != nil { // in a cleanup, the test's has ended
		t.Error(err)
	}
}

func TestTaskGoesThroughItsPhases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(1)
		e, key := start(t, d, 1)
		ticket := submit(t, e, t.Context(), key, 3, 4, 5)
		run := <-d.begun
		synctest.Wait()
		if !is(ticket.Begun()) || is(ticket.Uploaded()) || is(ticket.Done()) {
			t.Error("begun: expected Begun only")
		}
		time.Sleep(2 * time.Second) // in fake time
		close(run.uploaded)
		synctest.Wait()
		if !is(ticket.Uploaded()) || is(ticket.Done()) {
			t.Error("uploaded: expected Uploaded, and not Done")
		}
		time.Sleep(3 * time.Second)
		run.finish(nil)
		proofs, timings, err := ticket.Result()
		if err != nil || len(proofs) != 3 || proofs[0].Curve != 3 || proofs[2].Curve != 5 {
			t.Errorf("result %v, %v", proofs, err)
		}
		if want := (Timings{Batch: 3, MSM: 5, Total: 5 * time.Second}); timings != want {
			t.Errorf("timings %+v, want %+v", timings, want)
		}
		if want := (Stats{Tasks: 1, Inputs: 3, Time: timings}); e.Stats() != want {
			t.Errorf("stats %+v, want %+v", e.Stats(), want)
		}
		mustClose(t, e)
		wantCalls(t, d, "load 1", "begin 3", "result 3", "unload 1", "close")
	})
}

func TestOrderAndOverlap(t *testing.T) {
	for overlap, atOnce := range map[int]int{0: 1, 1: 1, 2: 2} {
		t.Run(fmt.Sprint("overlap ", overlap), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake(overlap)
				e, key := start(t, d, 10)
				var tickets []*Ticket
				for n := range byte(6) {
					tickets = append(tickets, submit(t, e, t.Context(), key, n))
				}
				for n := range 6 {
					synctest.Wait()
					if got, want := len(d.begun), min(atOnce, 6-n); n == 0 && got != want {
						t.Fatalf("%d tasks begun at once, want %d", got, want)
					}
					if got := e.Queued(); got != max(6-n-atOnce, 0) {
						t.Fatalf("%d queued after %d", got, n)
					}
					run := <-d.begun
					if run.name() != n {
						t.Fatalf("task %d begun, want %d", run.name(), n)
					}
					time.Sleep(time.Second)
					run.finish(nil)
				}
				if _, timings, _ := tickets[5].Result(); timings.Wait != time.Duration(6-atOnce)*time.Second {
					t.Errorf("the last waited %v", timings.Wait)
				}
				mustClose(t, e)
			})
		})
	}
}

// P11: a slow device leaves the producers waiting, not the tasks piling up.
func TestSlowDeviceBoundsTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(2)
		e, key := start(t, d, 3)
		var accepted, finished int
		var mu sync.Mutex
		for n := range byte(20) {
			go func() {
				ticket := submit(t, e, t.Context(), key, n)
				mu.Lock()
				accepted++
				mu.Unlock()
				ticket.Result()
			}()
		}
		for finished = range 15 {
			synctest.Wait()
			if want := finished + 2 + 3; accepted != want || e.Queued() != 3 {
				t.Fatalf("%d tasks accepted after %d, want %d; %d queued", accepted, finished, want, e.Queued())
			}
			(<-d.begun).finish(nil)
		}
		for range 5 {
			(<-d.begun).finish(nil)
		}
		mustClose(t, e)
	})
}

func TestCancelBeforeTheStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(1)
		e, key := start(t, d, 2)
		first := submit(t, e, t.Context(), key, 1)
		run := <-d.begun
		ctx, cancel := context.WithCancel(t.Context())
		second := submit(t, e, ctx, key, 2)
		third := submit(t, e, t.Context(), key, 3)
		blocked := make(chan error, 1)
		go func() {
			_, err := e.Submit(ctx, task(key, 4)) // the queue is full
			blocked <- err
		}()
		synctest.Wait()
		cancel()
		wantErr(t, second, context.Canceled)
		if err := <-blocked; !errors.Is(err, context.Canceled) {
			t.Errorf("Submit that blocked: %v", err)
		}
		if e.Queued() != 1 {
			t.Errorf("%d queued, want 1", e.Queued())
		}
		if _, err := e.Submit(ctx, task(key, 5)); !errors.Is(err, context.Canceled) {
			t.Errorf("Submit with an ended context: %v", err)
		}
		run.finish(nil)
		(<-d.begun).finish(nil)
		first.Result()
		third.Result()
		mustClose(t, e)
		wantCalls(t, d, "load 1", "begin 1", "result 1", "begin 3", "result 3", "unload 1", "close")
	})
}

func TestCancelAfterTheStartHasNoEffect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(1)
		e, key := start(t, d, 1)
		ctx, cancel := context.WithCancel(t.Context())
		ticket := submit(t, e, ctx, key, 1)
		<-ticket.Begun()
		cancel()
		(<-d.begun).finish(nil)
		if proofs, _, err := ticket.Result(); err != nil || len(proofs) != 1 {
			t.Errorf("result %v, %v", proofs, err)
		}
		mustClose(t, e)
	})
}

// A context that ended before the device was free: the task doesn't start, whoever notices first.
func TestNoStartAfterCancel(t *testing.T) {
	d := newFake(1)
	e, key := start(t, d, 1)
	for range 200 {
		first := submit(t, e, t.Context(), key, 1)
		run := <-d.begun
		ctx, cancel := context.WithCancel(t.Context())
		second := submit(t, e, ctx, key, 2)
		cancel()
		run.finish(nil)
		wantErr(t, second, context.Canceled)
		first.Result()
	}
	mustClose(t, e)
	if slices.Contains(d.calls, "begin 2") {
		t.Error("a cancelled task was started")
	}
}

func TestCloseFinishesWhatHasBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(1)
		e, key := start(t, d, 1)
		running := submit(t, e, t.Context(), key, 1)
		run := <-d.begun
		queued := submit(t, e, t.Context(), key, 2)
		blocked := make(chan error, 1)
		go func() {
			_, err := e.Submit(t.Context(), task(key, 3))
			blocked <- err
		}()
		synctest.Wait()
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := e.Close(impatient); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Close with a context that ends: %v", err)
		}
		wantErr(t, queued, ErrClosed)
		if err := <-blocked; !errors.Is(err, ErrClosed) {
			t.Errorf("Submit that blocked: %v", err)
		}
		if _, err := e.Submit(t.Context(), task(key, 4)); !errors.Is(err, ErrClosed) {
			t.Errorf("Submit after Close: %v", err)
		}
		if _, err := e.Load(t.Context(), &groth16.ProvingKey{}); !errors.Is(err, ErrClosed) {
			t.Errorf("Load after Close: %v", err)
		}
		if is(running.Done()) {
			t.Error("the task that had begun was ended")
		}
		run.finish(nil)
		mustClose(t, e)
		if _, _, err := running.Result(); err != nil {
			t.Errorf("the task that had begun: %v", err)
		}
		mustClose(t, e) // again
		wantCalls(t, d, "load 1", "begin 1", "result 1", "unload 1", "close")
	})
}

func TestUnloadWaitsForItsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(2)
		e, key := start(t, d, 2)
		other, err := e.Load(t.Context(), &groth16.ProvingKey{Vars: 2})
		if err != nil {
			t.Fatal(err)
		}
		submit(t, e, t.Context(), key, 1)
		run := <-d.begun
		unloaded := make(chan error, 1)
		go func() { unloaded <- e.Unload(t.Context(), key) }()
		synctest.Wait()
		late := submit(t, e, t.Context(), key, 2)
		run.finish(nil)
		if err := <-unloaded; err != nil {
			t.Errorf("Unload: %v", err)
		}
		wantErr(t, late, errNotLoaded)
		if err := e.Unload(t.Context(), key); !errors.Is(err, errNotLoaded) {
			t.Errorf("Unload again: %v", err)
		}
		if err := e.Unload(t.Context(), other); err != nil {
			t.Errorf("Unload of a key without runs: %v", err)
		}
		mustClose(t, e)
		wantCalls(t, d, "load 1", "load 2", "begin 1", "result 1", "unload 1", "unload 2", "close")
	})
}

// An unload that waits for its runs holds up what comes after it; when it is given up, that goes on.
func TestCancelledUnloadLetsTheNextBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(2)
		e, key := start(t, d, 2)
		submit(t, e, t.Context(), key, 1)
		first := <-d.begun
		ctx, cancel := context.WithCancel(t.Context())
		unloaded := make(chan error, 1)
		go func() { unloaded <- e.Unload(ctx, key) }()
		synctest.Wait()
		submit(t, e, t.Context(), key, 2)
		synctest.Wait()
		if len(d.begun) != 0 {
			t.Error("a task overtook the unload of its key")
		}
		cancel()
		if err := <-unloaded; !errors.Is(err, context.Canceled) {
			t.Errorf("Unload: %v", err)
		}
		(<-d.begun).finish(nil)
		first.finish(nil)
		mustClose(t, e)
	})
}

func TestErrorsOfTheDevice(t *testing.T) {
	lost := fmt.Errorf("%w: illegal memory access", ErrFault)
	full := errors.New("out of device memory")
	for name, test := range map[string]struct {
		arrange func(*fake)
		run     func(*fakeRun)
		want    string // of the task
		healthy bool
	}{
		"begin":            {func(d *fake) { d.beginErr = full }, nil, "out of device memory", true},
		"begin, sticky":    {func(d *fake) { d.beginErr = lost }, nil, "device fault: illegal memory access", false},
		"begin, panic":     {func(d *fake) { d.panics = "begin 1" }, nil, "device fault: panic (string) at github.com/pinion-zk/pinion/gpu.(*fake).called:", false},
		"result":           {nil, func(r *fakeRun) { r.finish(full) }, "out of device memory", true},
		"result, sticky":   {nil, func(r *fakeRun) { r.finish(lost) }, "device fault: illegal memory access", false},
		"too few proofs":   {nil, func(r *fakeRun) { r.proofs = nil; r.finish(nil) }, "device fault: 0 proofs of 1 inputs", false},
		"result, panicked": {func(d *fake) { d.panics = "result 1" }, func(r *fakeRun) { r.finish(nil) }, "device fault: panic (string) at github.com/pinion-zk/pinion/gpu.(*fake).called:", false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newFake(1)
				e, key := start(t, d, 2)
				if test.arrange != nil {
					test.arrange(d)
				}
				ticket := submit(t, e, t.Context(), key, 1)
				if test.run != nil {
					test.run(<-d.begun)
				}
				proofs, _, err := ticket.Result()
				if proofs != nil || err == nil || strings.TrimRight(err.Error(), "0123456789") != test.want { // less the line
					t.Errorf("result %v, want %q", err, test.want)
				}
				if healthy := e.Healthy() == nil; healthy != test.healthy {
					t.Errorf("healthy: %v", e.Healthy())
				}
				mustClose(t, e)
			})
		})
	}
}

func TestUnhealthyDeviceIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newFake(1)
		e, key := start(t, d, 1)
		running := submit(t, e, t.Context(), key, 1)
		run := <-d.begun
		queued := submit(t, e, t.Context(), key, 2)
		blocked := make(chan *Ticket, 1)
		go func() { blocked <- submit(t, e, t.Context(), key, 3) }()
		synctest.Wait()
		fault := errors.New("wrong proof of the known circuit")
		e.Condemn(fault)
		e.Condemn(errors.New("a later fault"))
		wantErr(t, queued, ErrUnhealthy)
		wantErr(t, <-blocked, ErrUnhealthy)
		_, err := e.Submit(t.Context(), task(key, 4))
		if !errors.Is(err, ErrUnhealthy) || !errors.Is(err, fault) {
			t.Errorf("Submit: %v", err)
		}
		if want := "gpu: device unhealthy: wrong proof of the known circuit"; err.Error() != want {
			t.Errorf("Submit: %q, want %q", err, want)
		}
		if _, err := e.Load(t.Context(), &groth16.ProvingKey{}); !errors.Is(err, ErrUnhealthy) {
			t.Errorf("Load: %v", err)
		}
		run.finish(nil)
		if _, _, err := running.Result(); err != nil {
			t.Errorf("the task that had begun: %v", err)
		}
		if err := e.Unload(t.Context(), key); err != nil {
			t.Errorf("Unload: %v", err)
		}
		if e.Healthy() != fault {
			t.Errorf("Healthy: %v", e.Healthy())
		}
		mustClose(t, e)
		wantCalls(t, d, "load 1", "begin 1", "result 1", "unload 1", "close")
	})
}

func TestLoadFails(t *testing.T) {
	d := newFake(1)
	e, _ := start(t, d, 1)
	d.loadErr = errors.New("too little memory")
	if _, err := e.Load(t.Context(), &groth16.ProvingKey{}); err != d.loadErr {
		t.Errorf("Load: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := e.Load(ctx, &groth16.ProvingKey{}); !errors.Is(err, context.Canceled) {
		t.Errorf("Load with an ended context: %v", err)
	}
	d.unloadErr = errors.New("busy")
	if err := e.Close(t.Context()); !errors.Is(err, d.unloadErr) {
		t.Errorf("Close: %v", err)
	}
	wantCalls(t, d, "load 1", "load 0", "unload 1", "close")
}

// P1: two executors on one device would run it under two orders.
func TestOneExecutorPerDevice(t *testing.T) {
	d := newFake(1)
	e, _ := start(t, d, 1)
	if _, err := NewExecutor(d, 1); err != ErrInUse {
		t.Errorf("second executor: %v", err)
	}
	mustClose(t, e)
	again, err := NewExecutor(d, 1)
	if err != nil {
		t.Fatalf("after the first was closed: %v", err)
	}
	mustClose(t, again)
}

func TestRefused(t *testing.T) {
	if _, err := NewExecutor(newFake(1), 0); err == nil || err.Error() != "gpu: queue of 0 tasks, expected 1 or more" {
		t.Errorf("queue of 0: %v", err)
	}
	e, key := start(t, newFake(1), 1)
	if _, err := e.Submit(t.Context(), &Task{Key: key}); err == nil || err.Error() != "gpu: task without an input" {
		t.Errorf("empty task: %v", err)
	}
	ticket := submit(t, e, t.Context(), &fakeKey{n: 9}, 1)
	wantErr(t, ticket, errNotLoaded)
	if f, err := e.Footprint(nil); err != nil || f != (Footprint{Key: 7, Task: 8, Batch: 1}) || e.Info().Name != "fake" {
		t.Errorf("footprint %+v, %v; info %+v", f, err, e.Info())
	}
	mustClose(t, e)
}

// Everything at once, from many goroutines: each call of the device comes from one thread, and each task comes to one end.
func TestOneThread(t *testing.T) {
	d := newFake(2)
	e, key := start(t, d, 3)
	stop := make(chan struct{})
	var device, users sync.WaitGroup
	device.Go(func() {
		for {
			select {
			case run := <-d.begun:
				if rand.IntN(2) == 0 {
					close(run.uploaded)
				}
				run.finish(nil)
			case <-stop:
				return
			}
		}
	})
	for range 8 {
		users.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				ticket, err := e.Submit(ctx, task(key, byte(i)))
				if err != nil {
					t.Error(err)
				}
				if i%3 == 0 {
					cancel()
				}
				<-ticket.Uploaded()
				if _, _, err := ticket.Result(); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				cancel()
				if i%10 == 0 {
					k, err := e.Load(t.Context(), &groth16.ProvingKey{Vars: 2})
					if err == nil {
						err = e.Unload(t.Context(), k)
					}
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	users.Wait()
	mustClose(t, e)
	close(stop)
	device.Wait()
	if len(d.threads) != 1 {
		t.Errorf("the device was called from %d threads", len(d.threads))
	}
	begins := 0
	for _, call := range d.calls {
		if strings.HasPrefix(call, "begin") {
			begins++
		}
	}
	if e.Queued() != 0 || begins == 0 || begins > 400 {
		t.Errorf("%d queued, %d begun", e.Queued(), begins)
	}
}

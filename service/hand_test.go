package service

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pinion-zk/pinion/gpu"
)

// taken is how many jobs a hand takes before it waits; they stay there.
func taken(t *testing.T, h *hand, weigh func()) (n int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := h.take(ctx); err != nil {
				if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				return
			}
			n++
			weigh()
		}
	}()
	synctest.Wait()
	cancel()
	<-ended
	return n
}

func TestHand(t *testing.T) {
	for name, test := range map[string]struct{ tasks, witnesses, batch, want int }{
		"large circuit":            {3, 1, 1, 3},
		"batch of 64":              {3, 1, 64, 192},
		"batch of 16, two each":    {2, 2, 16, 16},
		"more witnesses than fit":  {2, 100, 16, 2},
		"no room for two":          {1, 9, 16, 1},
		"weight of a part of task": {1, 1, 3, 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHand(test.tasks)
				if n := taken(t, h, func() { h.weigh(test.witnesses, test.batch) }); n != test.want {
					t.Errorf("%d jobs taken, expected %d", n, test.want)
				}
			})
		})
	}
}

// Before anything is known of the jobs that come, few are taken; a job that goes makes room.
func TestHandOfUnknownJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(2)
		first, err := h.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := taken(t, h, func() {}); n != 1 {
			t.Errorf("%d more jobs taken, expected 1", n)
		}
		next := make(chan error)
		go func() { _, err := h.take(t.Context()); next <- err }()
		synctest.Wait()
		first()
		if err := <-next; err != nil {
			t.Error(err)
		}
	})
}

// The first job is taken whatever the ones before weighed, and what is proven doesn't count for what it was.
func TestHandIsNeverStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHand(1)
		release, err := h.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		done, _ := h.weigh(1, 4)
		done()
		if n := taken(t, h, func() {}); n != 3 {
			t.Errorf("%d more jobs taken, expected 3", n)
		}
		release()
		h = newHand(1)
		h.last = 5 * wholeTask
		if _, err := h.take(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// After small jobs more large ones come than there is room for: these are refused, small ones and those of a circuit that is still to be
// loaded never.
func TestHandRefusesWhatOthersMayProve(t *testing.T) {
	h := newHand(2)
	for range 10 {
		if _, ok := h.weigh(1, 64); !ok {
			t.Error("a small job is refused")
		}
	}
	var proven func()
	for i, want := range []bool{true, true, false, false} {
		done, ok := h.weigh(1, 1)
		if ok != want {
			t.Errorf("large job %d: %t, expected %t", i, ok, want)
		}
		if ok {
			proven = done
		}
	}
	for _, batch := range []int{0, 64} {
		if _, ok := h.weigh(1, batch); !ok {
			t.Errorf("a job of a circuit with %d a task is refused", batch)
		}
	}
	proven()
	if _, ok := h.weigh(3, 1); !ok {
		t.Error("a large job is refused where one was proven")
	}
}

func TestJobsInHand(t *testing.T) {
	card, cpu := gpu.Info{Kind: gpu.CUDA, Overlap: 2}, gpu.Info{Kind: gpu.CPU, Overlap: 1}
	for _, test := range []struct {
		jobs        Jobs
		device      gpu.Info
		memory      int64
		most, tasks int
	}{
		{0, cpu, 64 << 30, 2, 2},
		{0, card, 64 << 30, 256, 3},
		{0, card, 2 << 30, 64, 3},
		{0, card, 1 << 20, 3, 3},
		{7, card, 64 << 30, 7, 7},
	} {
		if most, tasks := test.jobs.limits(test.device, test.memory); most != test.most || tasks != test.tasks {
			t.Errorf("%+v: %d jobs, %d tasks", test, most, tasks)
		}
	}
}

func TestTooLittleMemoryForMessages(t *testing.T) {
	config := testConfig(t)
	config.Memory, config.Jobs = 64<<20, 32
	_, err := config.NewProver(slog.New(slog.DiscardHandler), noop.Tracer{})
	if want := "PINION_JOBS: the messages of 32 jobs take 64MiB, PINION_MEMORY is 64MiB"; err == nil || err.Error() != want {
		t.Errorf("error %v, expected %s", err, want)
	}
}

package queue

import (
	"context"
	"errors"
	"testing"
	"time"
)

// A paused worker finishes what it has and takes nothing, until it is resumed.
func TestPause(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	begun, finish := make(chan string, 2), make(chan struct{})
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		d.Progress(PhaseDevice, 40)
		begun <- d.Job.ID
		<-finish
		return proves(ctx, d)
	}, func(cfg *WorkerConfig) { cfg.Name = "w" })
	b.submit(c, request("first"))
	<-begun
	w.Pause()
	if err := w.Ready(); !errors.Is(err, ErrPaused) {
		t.Errorf("ready: %v, want ErrPaused", err)
	}
	if in := w.InHand(); len(in) != 1 || in[0].ID != "first" || in[0].Phase != PhaseDevice || in[0].Percent != 40 {
		t.Errorf("in hand: %+v", in)
	}
	b.submit(c, request("second"))
	close(finish)
	b.await(c, "first", Done)
	other := b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Name = "other" })
	if r := b.await(c, "second", Done); r.Worker != "other" || r.Attempt != 1 {
		t.Errorf("attempt %d by %s, want the first by the other", r.Attempt, r.Worker)
	}
	if err := other.stop(); err != nil {
		t.Error(err)
	}
	w.Resume()
	b.submit(c, request("third"))
	if r := b.await(c, "third", Done); r.Worker != "w" {
		t.Errorf("by %s, want the resumed one", r.Worker)
	}
	b.awaitEmpty(c.js)
	if n := w.Stats().LastMinute; n != 2 {
		t.Errorf("%d jobs in the last minute, want 2", n)
	}
}

// While the fleet is paused, workers that start get no job either, and nothing
// is reported as drift.
func TestPauseFleet(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	if left, err := c.FleetPaused(ctx(t)); left != 0 || err != nil {
		t.Errorf("paused for %s, %v", left, err)
	}
	if err := c.PauseFleet(ctx(t), time.Hour); err != nil {
		t.Fatal(err)
	}
	if left, err := c.FleetPaused(ctx(t)); left < 59*time.Minute || left > time.Hour || err != nil {
		t.Errorf("paused for %s, %v", left, err)
	}
	if drift, err := Compare(ctx(t), c.js, Options{AckWait: ackWait, MaxBytes: 256 << 20}); len(drift) != 0 || err != nil {
		t.Errorf("drift %v, %v", drift, err)
	}
	resumed := make(chan struct{})
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		select {
		case <-resumed:
		default:
			t.Error("taken while the fleet was paused")
		}
		return proves(ctx, d)
	})
	s := b.submit(c, request("waits"))
	b.eventually("a pull waits although a job does", func() bool {
		consumer, err := c.js.Consumer(ctx(t), StreamJobs, Normal.Consumer())
		return err == nil && consumer.CachedInfo().NumWaiting > 0 && consumer.CachedInfo().NumPending == 1
	})
	if _, err := c.Result(ctx(t), s.ID); !errors.Is(err, ErrNoResult) {
		t.Errorf("a result: %v", err)
	}
	close(resumed)
	if err := c.ResumeFleet(ctx(t)); err != nil {
		t.Fatal(err)
	}
	b.await(c, s.ID, Done)
}

func TestLastMinute(t *testing.T) {
	var m minute
	start := time.Unix(1_800_000_000, 0)
	for i := range 100 { // one a second
		m.add(start.Add(time.Duration(i) * time.Second))
	}
	for after, want := range map[int]int64{99: 60, 129: 30, 158: 1, 159: 0} {
		if n := m.sum(start.Add(time.Duration(after) * time.Second)); n != want {
			t.Errorf("%d s after the start: %d, want %d", after, n, want)
		}
	}
}

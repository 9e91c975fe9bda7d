package queue

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
)

// A batch on a queue that has not enough room: each request has its own
// outcome, and repeating the batch submits what is missing.
func TestSubmitBatch(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	s := mustStream(t, c, StreamJobs)
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 100
	if _, err := c.js.UpdateStream(ctx(t), cfg); err != nil {
		t.Fatal(err)
	}
	const jobs, bad = 150, 7
	requests := make([]Request, jobs)
	for i := range requests {
		requests[i] = request(fmt.Sprint("batch-", i))
	}
	requests[bad].Circuit = "nobody"
	taken, full := outcomes(t, requests, c.SubmitBatch(ctx(t), requests), bad)
	if taken != 100 || full != jobs-101 {
		t.Errorf("%d taken, %d found the queue full; want 100 and %d", taken, full, jobs-101)
	}
	b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Jobs = 8 })
	b.awaitEmpty(c.js)
	if taken, full := outcomes(t, requests, c.SubmitBatch(ctx(t), requests), bad); taken != jobs-1 || full != 0 {
		t.Errorf("again: %d taken, %d found the queue full; want all", taken, full)
	}
	for i, r := range requests {
		if i != bad {
			b.await(c, r.ID, Done)
		}
	}
	if n := mustStream(t, c, StreamResults).CachedInfo().State.Msgs; n != jobs-1 {
		t.Errorf("%d results of %d jobs", n, jobs-1)
	}
}

// outcomes checks that each outcome is that of its request, and counts them.
func outcomes(t *testing.T, requests []Request, became []Submitted, bad int) (taken, full int) {
	t.Helper()
	for i, s := range became {
		switch {
		case i == bad:
			if !errors.Is(s.Err, ErrUnknownCircuit) || s.Submission != nil {
				t.Errorf("bad request: %+v", s)
			}
		case s.Err == nil && s.Submission.ID == requests[i].ID:
			taken++
		case errors.Is(s.Err, ErrQueueFull):
			full++
		default:
			t.Errorf("request %d: %+v", i, s)
		}
	}
	return taken, full
}

// Of a batch that is interrupted every request has an outcome.
func TestSubmitBatchInterrupted(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	requests := make([]Request, 3*batchWindow)
	for i := range requests {
		requests[i] = request(fmt.Sprint("cut-", i))
	}
	cut, cancel := context.WithCancelCause(ctx(t))
	defer cancel(nil)
	enough := errors.New("enough")
	arrived, err := c.nc.Subscribe("pinion.job.>", func(*nats.Msg) { cancel(enough) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = arrived.Unsubscribe() }()
	became := c.SubmitBatch(cut, requests)
	if last := became[len(became)-1]; !errors.Is(last.Err, enough) {
		t.Errorf("the last: %+v, want the context's cause", last)
	}
	for i, s := range became {
		if (s.Submission == nil) == (s.Err == nil) {
			t.Errorf("request %d: %+v", i, s)
		}
	}
}

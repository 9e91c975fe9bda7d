package queue

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// Two who watch a job, one from its submission on and one when it is over.
func TestWatch(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.submit(c, request("watched"))
	var phases []string
	var states []State
	for st, err := range c.Watch(ctx(t), "watched") {
		if err != nil {
			t.Fatal(err)
		}
		if len(states) == 0 { // it lies in the queue until somebody works
			b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Name = "w" })
		}
		states, phases = append(states, st.State), append(phases, st.Phase)
		if st.State != Queued && (st.Worker != "w" || st.Attempt != 1) {
			t.Errorf("status %+v", st)
		}
	}
	if states = slices.Compact(states); !slices.Equal(states, []State{Queued, Running, Done}) {
		t.Errorf("states %s", states)
	}
	if !slices.Contains(phases, PhaseWitness) || !slices.Contains(phases, PhaseDevice) {
		t.Errorf("phases %q", phases)
	}

	afterwards := func() (all []Status) {
		for st, err := range b.client().Watch(ctx(t), "watched") {
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, st)
		}
		return all
	}
	if all := afterwards(); len(all) != 1 || all[0].State != Done {
		t.Errorf("afterwards: %+v", all)
	}
	deleteRecord(t, c, "watched")
	if all := afterwards(); len(all) != 1 || all[0].State != Done || all[0].Worker != "w" {
		t.Errorf("when the record has gone: %+v", all)
	}
}

// A job that was handed on is queued again, which no event tells.
func TestWatchAfterDeferral(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.submit(c, request("patient"))
	var ran bool
	for st, err := range c.Watch(ctx(t), "patient") {
		switch {
		case err != nil:
			t.Fatal(err)
		case st.State == Running:
			ran = true
		case ran && st.State == Queued && st.Deferred == "too large":
			return
		case !ran:
			b.startWorker(func(_ context.Context, d *Delivery) (*Outcome, error) {
				d.Progress(PhaseAdmit, 0)
				return nil, &Defer{After: time.Minute, Reason: "too large"}
			})
		}
	}
	t.Error("the watch ended")
}

func TestWatchErrors(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	for _, id := range []string{"nobody", "a.b", "*", ""} {
		for _, err := range c.Watch(ctx(t), id) {
			if !errors.Is(err, ErrUnknownJob) {
				t.Errorf("%q: %v, want ErrUnknownJob", id, err)
			}
		}
	}
	b.submit(c, request("waiting"))
	bored := errors.New("bored")
	ctx, cancel := context.WithCancelCause(ctx(t))
	defer cancel(nil)
	var last error
	for _, last = range c.Watch(ctx, "waiting") {
		cancel(bored)
	}
	if !errors.Is(last, bored) {
		t.Errorf("%v, want the context's cause", last)
	}
}

// A record that a heartbeat wrote before the last event is no news.
func TestOlderNews(t *testing.T) {
	now := time.Now()
	at := func(worker string, at time.Time) *Status { return &Status{Progress: Progress{Worker: worker, At: at}} }
	for _, tt := range []struct {
		a, b *Status
		want bool
	}{
		{at("w", now), nil, false},
		{at("w", now.Add(-time.Second)), at("w", now), true},
		{at("w", now), at("w", now), false},
		{at("v", now.Add(-time.Second)), at("w", now), false}, // by another clock
	} {
		if got := tt.a.olderThan(tt.b); got != tt.want {
			t.Errorf("%v older than %v: %t", tt.a, tt.b, got)
		}
	}
}

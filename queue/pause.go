package queue

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// ErrPaused is why a worker isn't ready that an operator has paused.
var ErrPaused = errors.New("queue: worker is paused")

// Pause makes the worker take no more jobs, until Resume. Those in hand go on,
// and their leases are kept.
func (w *Worker) Pause() { w.paused.Store(true) }

// Resume ends a pause, within a moment.
func (w *Worker) Resume() { w.paused.Store(false) }

// unfit says why no job should be asked for, or nil.
func (w *Worker) unfit() error {
	if err := w.cfg.Healthy(); err != nil {
		return err
	}
	if w.paused.Load() {
		return ErrPaused
	}
	return nil
}

// InHand tells how far the jobs are that the worker works on, by their ids.
func (w *Worker) InHand() []Progress {
	w.mu.Lock()
	defer w.mu.Unlock()
	var jobs []Progress
	for _, id := range slices.Sorted(maps.Keys(w.running)) {
		phase, percent := w.running[id].progress()
		jobs = append(jobs, Progress{ID: id, State: Running, Phase: phase, Worker: w.cfg.Name, At: time.Now(), Percent: percent})
	}
	return jobs
}

// PauseFleet makes the broker give no job to any worker for that long, also to
// those that start later. Jobs in hand go on; jobs can be submitted. It is for
// operators: it changes the consumers.
func (c *Client) PauseFleet(ctx context.Context, d time.Duration) error {
	until := time.Now().Add(d)
	for _, p := range Priorities() {
		err := c.ofConsumer(ctx, p, func(ctx context.Context) error {
			_, err := c.js.PauseConsumer(ctx, StreamJobs, p.Consumer(), until)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ResumeFleet ends a pause of the fleet; it doesn't resume workers that were
// paused one by one.
func (c *Client) ResumeFleet(ctx context.Context) error {
	for _, p := range Priorities() {
		err := c.ofConsumer(ctx, p, func(ctx context.Context) error {
			_, err := c.js.ResumeConsumer(ctx, StreamJobs, p.Consumer())
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// FleetPaused is how long the fleet stays paused; 0 if it isn't.
func (c *Client) FleetPaused(ctx context.Context) (time.Duration, error) {
	var left time.Duration
	for _, p := range Priorities() {
		consumer, err := c.consumer(ctx, p)
		if err != nil {
			return 0, err
		}
		if info := consumer.CachedInfo(); info.Paused {
			left = max(left, info.PauseRemaining)
		}
	}
	return left, nil
}

// minute counts what happened in the last 60 seconds, second by second.
type minute struct {
	mu      sync.Mutex
	seconds [60]struct{ at, n int64 }
}

func (m *minute) add(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := &m.seconds[now.Unix()%60]
	if s.at != now.Unix() {
		s.at, s.n = now.Unix(), 0
	}
	s.n++
}

func (m *minute) sum(now time.Time) (n int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.seconds {
		if now.Unix()-s.at < 60 {
			n += s.n
		}
	}
	return n
}

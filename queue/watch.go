package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/nats-io/nats.go"
)

// Watch follows a job. It yields where the job stands: at once, whenever a
// progress event tells of it, and every few seconds, changed or not, because
// events are best effort. The last status is a final one. It needn't be the
// client that submitted the job, and the job may have ended long before.
//
// An error is the last thing that it yields: ErrUnknownJob if nothing is known
// of the job, and the cause of ctx when that ends.
func (c *Client) Watch(ctx context.Context, id string) iter.Seq2[Status, error] {
	return func(yield func(Status, error) bool) {
		if err := c.watch(ctx, id, yield); err != nil {
			yield(Status{}, err)
		}
	}
}

func (c *Client) watch(ctx context.Context, id string, yield func(Status, error) bool) error {
	if !ValidToken(id) {
		return ErrUnknownJob
	}
	ctx, stop := Guard(ctx, c.nc, ProgressSubject(id))
	defer stop()
	w := &watcher{c: c, events: make(chan *nats.Msg, 256), look: time.NewTicker(lookInterval)}
	defer w.look.Stop()
	sub, err := c.nc.ChanSubscribe(ProgressSubject(id), w.events)
	if err != nil {
		return fmt.Errorf("queue: watch %s: %w", id, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	var news *Status
	err = caughtUp(ctx, func() (err error) {
		news, err = c.standing(ctx, id)
		return err
	})
	for ; err == nil; news, err = w.next(ctx) {
		if news.olderThan(w.last) {
			continue
		}
		w.last = news
		if !yield(*news, nil) || news.State.Final() {
			return nil
		}
	}
	return err
}

// standing is a job's record; once that has gone, what the result tells.
func (c *Client) standing(ctx context.Context, id string) (*Status, error) {
	st, _, err := c.status(ctx, id)
	if !errors.Is(err, ErrUnknownJob) {
		return st, err
	}
	r, _, err := c.storedResult(ctx, id)
	if errors.Is(err, ErrNoResult) {
		return nil, ErrUnknownJob
	} else if err != nil {
		return nil, err
	}
	return &Status{Progress: Progress{ID: id, State: r.State, Attempt: r.Attempt, Worker: r.Worker, Percent: 100}, Attempts: r.Attempt, Job: r.Job}, nil
}

// watcher is a Watch under way.
type watcher struct {
	c      *Client
	events chan *nats.Msg
	look   *time.Ticker
	last   *Status // that was yielded
}

// next waits for news, which may be none.
func (w *watcher) next(ctx context.Context) (*Status, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case msg := <-w.events:
		news := *w.last
		if p, err := DecodeProgress(msg.Data); err == nil && p.ID == news.ID {
			news.Progress = *p
		}
		return &news, nil
	case <-w.look.C:
		news, err := w.c.standing(ctx, w.last.ID)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case isTransient(err) && !errors.Is(err, ErrUnknownJob):
			return w.last, nil // the broker is away for a moment
		}
		return news, err
	}
}

// olderThan compares by the clock of the worker that both are from. The record
// that a heartbeat wrote may be older than an event.
func (s *Status) olderThan(other *Status) bool {
	return other != nil && s.Worker == other.Worker && s.At.Before(other.At)
}

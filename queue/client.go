package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"
)

// Client is a producer's side of the queue. It is safe for concurrent use.
type Client struct {
	*store
	circuits *objects
	uploads  chan struct{} // full while one is under way
	cfg      ClientConfig
}

// ClientConfig is what a [Client] may be told.
type ClientConfig struct {
	// InlineLimit bounds the bytes of witnesses that travel inside a job's
	// message; what exceeds it is uploaded. Default and maximum: what the
	// message limit leaves.
	InlineLimit int
	// Tracer makes the send spans; default: that of the global provider.
	Tracer trace.Tracer
}

// NewClient binds to what [Provision] made; ErrNotProvisioned if it isn't
// there. The connection stays the caller's.
func NewClient(ctx context.Context, nc *nats.Conn, cfg ClientConfig) (*Client, error) {
	s, err := bind(ctx, nc)
	if err != nil {
		return nil, err
	}
	if cfg.Tracer == nil {
		cfg.Tracer = otel.Tracer(tracerName)
	}
	return &Client{store: s, circuits: &objects{nc, s.js, BucketCircuits}, uploads: make(chan struct{}, 1), cfg: cfg}, nil
}

// Result returns the stored result, or ErrNoResult.
func (c *Client) Result(ctx context.Context, id string) (*Result, error) {
	if !ValidToken(id) {
		return nil, ErrNoResult
	}
	r, _, err := c.storedResult(ctx, id)
	return r, err
}

// Status returns the job's record, or ErrUnknownJob.
func (c *Client) Status(ctx context.Context, id string) (*Status, error) {
	if !ValidToken(id) {
		return nil, ErrUnknownJob
	}
	var st *Status
	err := caughtUp(ctx, func() (err error) {
		st, _, err = c.status(ctx, id)
		return err
	})
	return st, err
}

// caughtUp reads once more, for a moment, if nothing is known of a job: it may
// have been submitted just now, and a replica be behind.
func caughtUp(ctx context.Context, read func() error) error {
	for end := time.Now().Add(lagPause); ; pause(ctx, behindPause) {
		if err := read(); !errors.Is(err, ErrUnknownJob) || ctx.Err() != nil || time.Now().After(end) {
			return err
		}
	}
}

// Wait returns the job's result once there is one, also when it was there
// long before. It needn't be the client that submitted the job.
func (c *Client) Wait(ctx context.Context, id string) (*Result, error) {
	if !ValidToken(id) {
		return nil, ErrNoResult
	}
	ctx, stop := Guard(ctx, c.nc, DoneSubject(id))
	defer stop()
	done := make(chan *nats.Msg, 1)
	sub, err := c.nc.ChanSubscribe(DoneSubject(id), done)
	if err != nil {
		return nil, fmt.Errorf("queue: wait for %s: %w", id, err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	// Republished results are best effort: look, too, at once and then now
	// and again.
	look := time.NewTicker(lookInterval)
	defer look.Stop()
	for {
		if r, err := c.Result(ctx, id); !errors.Is(err, ErrNoResult) && ctx.Err() == nil && !isTransient(err) {
			return r, err
		}
		select {
		case msg := <-done:
			if r, err := DecodeResult(msg.Data); err == nil {
				return r, nil
			}
		case <-look.C:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

const lookInterval = 3 * time.Second

// isTransient reports that the broker couldn't be asked, which may change.
func isTransient(err error) bool {
	return err != nil && !errors.Is(err, ErrMalformed) && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrPermissionViolation)
}

// Cancel asks for the end of a job: a queued one ends when a worker comes to
// it, a running one when its worker hears of it. Its result tells which came
// first, the end or the proof. ErrUnknownJob if there is no such job.
func (c *Client) Cancel(ctx context.Context, id string) error {
	if !ValidToken(id) {
		return ErrUnknownJob
	}
	_, err := c.update(ctx, id, func(st *Status) error {
		st.Cancelled = true
		return nil
	})
	if err != nil {
		return err
	}
	if err := c.nc.Publish(CancelSubject(id), nil); err != nil {
		return fmt.Errorf("queue: cancel %s: %w", id, err)
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout) // a flush needs a deadline
	defer cancel()
	if err := c.nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("queue: cancel %s: %w", id, err)
	}
	if refused, ok := asRefused(c.nc.LastError()); ok && refused.Subject == CancelSubject(id) {
		return refused
	}
	return nil
}

// OnProgress calls f, from one goroutine, for each progress event of the job
// until stop is called.
func (c *Client) OnProgress(id string, f func(Progress)) (stop func(), err error) {
	if !ValidToken(id) {
		return nil, ErrUnknownJob
	}
	sub, err := c.nc.Subscribe(ProgressSubject(id), func(msg *nats.Msg) {
		if p, err := DecodeProgress(msg.Data); err == nil {
			f(*p)
		}
	})
	if err != nil {
		return nil, fmt.Errorf("queue: progress of %s: %w", id, err)
	}
	return func() { _ = sub.Unsubscribe() }, nil
}

package queue

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/trace"
)

// WorkerConfig is what a [Worker] is told.
type WorkerConfig struct {
	// Name of the process, a token; unique among the workers. Default: the
	// host's name and a random part.
	Name string
	// Handler proves. Required.
	Handler Handler
	// Jobs is how many jobs may be in hand at once, those that wait for the
	// device included. Default 2: one that proves, one that is made ready.
	Jobs int
	// Intake is called before a job is asked for: it blocks until there is
	// room for a job's message and returns what gives the room back once the
	// job has left the worker's hands. Optional.
	Intake func(ctx context.Context) (release func(), err error)
	// Grace is how long running jobs may go on after Run's context has
	// ended. Default 30 s.
	Grace time.Duration
	// MaxDeferrals is how often a job may be handed on. Default 1000.
	MaxDeferrals int
	// RetryDelay is how long a failed attempt waits for the next; it doubles
	// with each. Default 1 s.
	RetryDelay time.Duration
	// ReplyPrefixes are where replies may go. Default: _INBOX., _INBOX_ and
	// pinion.reply.
	ReplyPrefixes []string
	// Tracer makes the spans; default: that of the global provider.
	Tracer trace.Tracer
	// Spans collects them for the reply subject; nil: none are sent. It must
	// be registered with the tracer's provider.
	Spans *SpanCollector
	// Log; default: slog.Default().
	Log *slog.Logger
}

// Worker takes jobs off the queue and hands them to its [Handler].
type Worker struct{}

// NewWorker binds to what [Provision] made; ErrNotProvisioned if it isn't
// there. The connection stays the caller's, who drains it after Run.
func NewWorker(ctx context.Context, nc *nats.Conn, cfg WorkerConfig) (*Worker, error) {
	return nil, errors.ErrUnsupported
}

// Run takes jobs until ctx ends, then drains: it stops asking, waits for
// running jobs up to the grace time, hands on those that have not reached
// the device, and returns nil when none is in hand. Call it once.
func (w *Worker) Run(ctx context.Context) error { return errors.ErrUnsupported }

// Ready says why the worker can't take jobs now, or nil: it is running and
// the broker answers its pulls.
func (w *Worker) Ready() error { return errors.ErrUnsupported }

// Stats counts what the worker did since its start.
type Stats struct {
	Done, Failed, Cancelled, Expired int64 // results stored by this worker
	Deferred, Retried, LeaseLost     int64
	InHand                           int64 // now
}

// Stats returns the counts.
func (w *Worker) Stats() Stats { return Stats{} }

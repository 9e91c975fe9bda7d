package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"go.opentelemetry.io/otel"
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
	// Intake is called before a job is asked for, one call at a time: it
	// blocks until there is room for a job's message and returns what gives
	// the room back, once the job has left the worker's hands or it turns out
	// that none is to be asked for. Optional.
	Intake func(ctx context.Context) (release func(), err error)
	// Healthy says what is wrong with the device, or nil. It is asked at each
	// heartbeat of a job: the job of a sick device loses its lease and goes to
	// another worker, even if the device never returns. It must not block.
	// Optional.
	Healthy func() error
	// Started is called once Run takes jobs, when Ready says so too. Optional.
	Started func()
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

// DefaultReplyPrefixes are where a worker sends replies unless it is told
// otherwise.
func DefaultReplyPrefixes() []string { return []string{"_INBOX.", "_INBOX_", "pinion.reply."} }

// Worker takes jobs off the queue and hands them to its [Handler].
type Worker struct {
	*store
	cfg      WorkerConfig
	lanes    []jetstream.Consumer // in the order of Priorities
	ackWait  time.Duration
	pullWait time.Duration
	settle   time.Duration
	counts   counts

	paused atomic.Bool

	mu       sync.Mutex
	running  map[string]*task
	health   [3]error // of each lane; nil: the broker answers
	started  bool
	expelled bool // the grace time is over
}

// NewWorker binds to what [Provision] made; ErrNotProvisioned if it isn't
// there. The connection stays the caller's, who drains it after Run.
func NewWorker(ctx context.Context, nc *nats.Conn, cfg WorkerConfig) (*Worker, error) {
	cfg = cfg.withDefaults()
	if cfg.Handler == nil {
		return nil, errors.New("queue: worker without a handler")
	}
	if !ValidToken(cfg.Name) {
		return nil, fmt.Errorf("queue: worker name %.80q: expected 1 to 64 of A-Z a-z 0-9 _ -", cfg.Name)
	}
	s, err := bind(ctx, nc)
	if err != nil {
		return nil, err
	}
	w := &Worker{store: s, cfg: cfg, pullWait: 2 * time.Second, settle: settleTime, running: make(map[string]*task)}
	for _, p := range Priorities() {
		c, err := s.consumer(ctx, p)
		if err != nil {
			return nil, err
		}
		w.lanes = append(w.lanes, c)
		w.ackWait = max(w.ackWait, c.CachedInfo().Config.AckWait)
	}
	return w, nil
}

func (cfg WorkerConfig) withDefaults() WorkerConfig {
	if cfg.Name == "" {
		cfg.Name = defaultName()
	}
	set(&cfg.Jobs, 2)
	set(&cfg.Grace, 30*time.Second)
	set(&cfg.MaxDeferrals, 1000)
	set(&cfg.RetryDelay, time.Second)
	if cfg.Intake == nil {
		cfg.Intake = func(context.Context) (func(), error) { return func() {}, nil }
	}
	if cfg.Started == nil {
		cfg.Started = func() {}
	}
	if cfg.Healthy == nil {
		cfg.Healthy = func() error { return nil }
	}
	if cfg.ReplyPrefixes == nil {
		cfg.ReplyPrefixes = DefaultReplyPrefixes()
	}
	if cfg.Tracer == nil {
		cfg.Tracer = otel.Tracer(tracerName)
	}
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.Log = cfg.Log.With("worker", cfg.Name)
	return cfg
}

func defaultName() string {
	host, err := os.Hostname()
	if err != nil {
		host = "worker"
	}
	valid := strings.Map(func(r rune) rune {
		if r < 0x80 && tokenByte(byte(r)) {
			return r
		}
		return '-'
	}, host)
	return valid[:min(len(valid), 50)] + "-" + nuid.Next()[14:]
}

// Name is the worker's name, as results carry it.
func (w *Worker) Name() string { return w.cfg.Name }

// leaseTTL is twice the ack wait, in whole seconds as the broker counts.
func (w *Worker) leaseTTL() time.Duration {
	return (2*w.ackWait + time.Second - 1).Truncate(time.Second)
}

// Run takes jobs until ctx ends, then drains: it stops asking, waits for
// running jobs up to the grace time, hands on those that have not reached
// the device, leaves the others to the ack wait, and returns nil when none is
// in hand. Call it once.
func (w *Worker) Run(ctx context.Context) error {
	sub, err := w.nc.Subscribe(CancelSubject("*"), w.onCancel)
	if err != nil {
		return fmt.Errorf("queue: subscribe to cancellations: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	w.setStarted(true)
	w.cfg.Started()

	var jobs sync.WaitGroup
	in := newIntake(w, &jobs)
	err = in.run(ctx)
	w.setStarted(false)
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		in.close()
	}()
	w.expel(&jobs)
	<-closed
	if ferr := w.nc.FlushTimeout(requestTimeout); ferr != nil && err == nil {
		w.cfg.Log.Warn("flush at shutdown", "error", ferr)
	}
	return err
}

// expel waits for the jobs in hand and interrupts those that take longer than
// the grace time.
func (w *Worker) expel(jobs *sync.WaitGroup) {
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		jobs.Wait()
	}()
	grace := time.NewTimer(w.cfg.Grace)
	defer grace.Stop()
	select {
	case <-idle:
		return
	case <-grace.C:
	}
	w.mu.Lock()
	w.expelled = true
	for _, t := range w.running {
		t.interrupt(ErrDrained)
	}
	w.mu.Unlock()
	<-idle
}

func (w *Worker) onCancel(msg *nats.Msg) {
	id := strings.TrimPrefix(msg.Subject, CancelSubject(""))
	w.mu.Lock()
	defer w.mu.Unlock()
	if t := w.running[id]; t != nil {
		t.interrupt(ErrCancelled)
	}
}

// enter and leave keep the list of tasks whose work may be interrupted.
func (w *Worker) enter(t *task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[t.id] = t
	if w.expelled {
		t.interrupt(ErrDrained)
	}
}

func (w *Worker) leave(t *task) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running[t.id] == t {
		delete(w.running, t.id)
	}
}

func (w *Worker) setStarted(started bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started = started
}

func (w *Worker) setHealth(lane int, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.health[lane] = err
}

// Ready says why the worker can't take jobs now, or nil: it is running and not
// paused, the broker answers its pulls, and the device is healthy.
func (w *Worker) Ready() error {
	if err := w.unfit(); err != nil {
		return err
	}
	if s := w.nc.Status(); s != nats.CONNECTED {
		return fmt.Errorf("queue: connection to the broker is %s", strings.ToLower(s.String()))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.started {
		return errors.New("queue: worker isn't running")
	}
	for i, err := range w.health {
		if err != nil {
			return fmt.Errorf("queue: consumer %s: %w", Priorities()[i].Consumer(), err)
		}
	}
	return nil
}

// Stats counts what the worker did since its start.
type Stats struct {
	Done, Failed, Cancelled, Expired int64 // results stored by this worker
	Deferred, Retried, LeaseLost     int64
	InHand                           int64 // now
	LastMinute                       int64 // results stored in the last 60 seconds
}

type counts struct {
	done, failed, cancelled, expired, deferred, retried, leaseLost, inHand atomic.Int64
	minute                                                                 minute
}

// Stats returns the counts.
func (w *Worker) Stats() Stats {
	c := &w.counts
	return Stats{
		Done: c.done.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(), Expired: c.expired.Load(),
		Deferred: c.deferred.Load(), Retried: c.retried.Load(), LeaseLost: c.leaseLost.Load(), InHand: c.inHand.Load(),
		LastMinute: c.minute.sum(time.Now()),
	}
}

func (c *counts) stored(s State) {
	c.minute.add(time.Now())
	switch s {
	case Done:
		c.done.Add(1)
	case Failed:
		c.failed.Add(1)
	case Cancelled:
		c.cancelled.Add(1)
	case Expired:
		c.expired.Add(1)
	}
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// task is one delivery of a job, from the worker's taking it to its ack, nak
// or loss. It belongs to one goroutine, but for the fields under mu.
type task struct {
	w         *Worker
	msg       jetstream.Msg
	log       *slog.Logger
	received  time.Time
	queued    time.Duration
	delivered uint64 // how often, this one included

	lane    Priority
	circuit string // name
	id      string
	digest  [32]byte
	job     *Job   // nil if it can't be read
	reply   string // allowed; empty for none
	decode  time.Duration

	attempt int    // 0 until the work begins
	begun   uint64 // the revision of the record that says so
	claimed *claimed
	span    trace.Span
	spans   *spanBundle

	mu        sync.Mutex
	cancel    context.CancelCauseFunc // of the handler's context
	phase     string
	percent   int
	onDevice  bool
	fetchTime time.Duration
}

// handle sees one delivered job through, whatever becomes of it.
func (w *Worker) handle(ctx context.Context, msg jetstream.Msg, received time.Time) {
	t := &task{w: w, msg: msg, received: received, log: w.cfg.Log}
	if err := t.receive(); err != nil {
		t.banish(ctx, err)
		return
	}
	ctx = t.startSpan(ctx)
	err := t.process(ctx)
	t.endClaim()
	t.endSpan(err)
	t.dropSpans()
	switch {
	case err == nil:
	case errors.Is(err, ErrLeaseLost):
		// Nothing more: a nak now would take the job from its new holder.
		w.counts.leaseLost.Add(1)
		t.log.Warn("lease lost", "attempt", t.attempt, "error", err)
	case errors.Is(err, errLeft):
		t.log.Warn("left to the ack wait", "attempt", t.attempt, "error", err)
	default:
		t.log.Error("job not concluded", "attempt", t.attempt, "error", err)
	}
}

// errLeft marks what a task leaves as it is, for the ack wait to bring back.
var errLeft = errors.New("queue: job is left to the ack wait")

// receive takes the message's subject apart.
func (t *task) receive() (err error) {
	t.lane, t.circuit, t.id, err = ParseJobSubject(t.msg.Subject())
	if err != nil {
		return err
	}
	t.digest = digestOf(t.msg.Data())
	t.log = t.log.With("job", t.id, "circuit", t.circuit)
	if meta, err := t.msg.Metadata(); err == nil {
		t.queued = max(0, t.received.Sub(meta.Timestamp))
		t.delivered = meta.NumDelivered
	}
	return nil
}

// process is the order of the contract: read the job; end it if it has ended
// already, or must; take the lease; do the work; conclude.
func (t *task) process(ctx context.Context) error {
	invalid := t.read()
	stored := t.w.lookUp(ctx, t.id) // while the record is read
	st, revision, err := t.w.registered(ctx, t.id, t.msg.Subject(), t.digest)
	before := <-stored
	switch {
	case errors.Is(err, ErrIDConflict):
		return t.conflict(ctx)
	case err != nil:
		return t.postpone(err)
	}
	if concluded, err := t.concluded(ctx, before); concluded || err != nil {
		return err
	}
	switch {
	case invalid != nil:
		return t.conclude(ctx, t.failed(invalid), nil)
	case st.Cancelled:
		return t.conclude(ctx, t.ended(ErrCancelled, st), nil)
	case t.expired():
		return t.conclude(ctx, t.ended(ErrExpired, st), nil)
	}
	err = t.claim(ctx)
	var held *heldError
	switch {
	case errors.As(err, &held):
		t.log.Info("held by another worker", "for", held.left)
		return t.msg.NakWithDelay(held.left)
	case err != nil:
		return t.postpone(err)
	}
	if t.delivered > 1 || t.claimed.lease.follows { // its holder may have finished while we asked
		if concluded, err := t.concluded(t.claimed.ctx, t.w.foundNow(t.claimed.ctx, t.id)); concluded || err != nil {
			return err
		}
	}
	return t.work(st, revision)
}

// read decodes the job and checks it against its subject and the worker's
// allow-list.
func (t *task) read() *Failure {
	start := time.Now()
	job, err := DecodeJob(t.msg.Data())
	t.decode = time.Since(start)
	if err != nil {
		t.reply, _ = t.w.allowedReply(carrier(t.msg.Headers()).Get(HeaderReplyTo))
		return &Failure{Code: CodeInvalidJob, Msg: err.Error(), Err: err}
	}
	t.job = job
	var refused error
	t.reply, refused = t.w.allowedReply(orElse(job.Reply, carrier(t.msg.Headers()).Get(HeaderReplyTo)))
	name, _, _ := strings.Cut(job.Circuit, "@")
	switch {
	case job.ID != t.id:
		return &Failure{Code: CodeInvalidJob, Msg: fmt.Sprintf("id: found %q, expected %q as in the subject", job.ID, t.id)}
	case name != t.circuit:
		return &Failure{Code: CodeInvalidJob, Msg: fmt.Sprintf("circuit: found %q, expected %q as in the subject", name, t.circuit)}
	case refused != nil:
		return &Failure{Code: CodeInvalidReply, Msg: refused.Error()}
	}
	return nil
}

func orElse(s, other string) string {
	if s != "" {
		return s
	}
	return other
}

// allowedReply returns the subject if replies may go there. A worker that
// publishes wherever a job tells it to would lend its permissions to the
// job's producer.
func (w *Worker) allowedReply(subject string) (string, error) {
	if subject == "" {
		return "", nil
	}
	for _, prefix := range w.cfg.ReplyPrefixes {
		if strings.HasPrefix(subject, prefix) && validSubject(subject) {
			return subject, nil
		}
	}
	return "", fmt.Errorf("reply subject %.80q: expected one that begins with %s", subject, strings.Join(w.cfg.ReplyPrefixes, " or "))
}

func (t *task) expired() bool {
	return t.job != nil && !t.job.Deadline.IsZero() && !time.Now().Before(t.job.Deadline)
}

// found is a job's stored result, or why there is none.
type found struct {
	result *Result
	body   []byte
	err    error
}

// foundNow is what the leader knows of a job's result.
func (s *store) foundNow(ctx context.Context, id string) found {
	r, body, err := s.resultNow(ctx, id)
	return found{r, body, err}
}

// lookUp reads a job's result while other things are done. What it returns
// holds it in the end.
func (s *store) lookUp(ctx context.Context, id string) <-chan found {
	stored := make(chan found, 1)
	go func() {
		r, body, err := s.storedResult(ctx, id)
		stored <- found{r, body, err}
	}()
	return stored
}

// concluded sends a result that was stored already once more, and
// acknowledges the job.
func (t *task) concluded(ctx context.Context, stored found) (bool, error) {
	r := stored.result
	switch {
	case errors.Is(stored.err, ErrNoResult):
		return false, nil
	case stored.err != nil:
		return true, t.postpone(stored.err)
	case r.Job != t.digest:
		return true, t.conflict(ctx)
	}
	t.log.Info("result exists already", "state", r.State, "worker", r.Worker)
	t.span.SetAttributes(attribute.Bool("pinion.redelivered", true))
	return true, t.settle(ctx, r, nil, stored.body, "")
}

// work begins an attempt, lets the handler do it, and acts on what it says.
// The record is as it was before the lease was taken.
func (t *task) work(st *Status, revision uint64) error {
	ctx := t.claimed.ctx
	jobCtx, cancel := t.jobContext(ctx)
	defer cancel()
	t.w.enter(t)
	defer t.w.leave(t)
	st, err := t.begin(ctx, st, revision)
	switch {
	case context.Cause(ctx) != nil:
		return context.Cause(ctx)
	case errors.Is(err, errAttempts):
		return t.conclude(ctx, t.failed(&Failure{Code: CodeAttempts, Msg: exhausted(st)}), st)
	case errors.Is(err, ErrCancelled):
		return t.conclude(ctx, t.ended(ErrCancelled, st), st)
	case err != nil:
		return t.again(ctx, t.w.cfg.RetryDelay, nil, err.Error())
	}
	outcome, err := t.prove(jobCtx)
	return t.judge(ctx, jobCtx, st, outcome, err)
}

// jobContext is the handler's: it ends with the lease, at the deadline, and
// by interrupt.
func (t *task) jobContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t.mu.Lock()
	t.cancel = cancel
	t.mu.Unlock()
	if t.job.Deadline.IsZero() {
		return ctx, func() { cancel(nil) }
	}
	ctx, cancelDeadline := context.WithDeadlineCause(ctx, t.job.Deadline, ErrExpired)
	return ctx, func() {
		cancelDeadline()
		cancel(nil)
	}
}

// interrupt ends the handler's context, from any goroutine.
func (t *task) interrupt(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.cancel != nil {
		t.cancel(cause)
	}
}

var errAttempts = errors.New("queue: no attempts left")

// begin counts the attempt, before any of its work.
func (t *task) begin(ctx context.Context, st *Status, revision uint64) (*Status, error) {
	st, revision, err := t.w.updateFrom(ctx, t.id, st, revision, func(st *Status) error {
		switch {
		case st.Cancelled:
			return ErrCancelled
		case st.Attempts >= MaxAttempts:
			return errAttempts
		}
		st.begin(t.w.cfg.Name, traceparent(ctx), time.Now())
		return nil
	})
	if err != nil {
		return st, err
	}
	t.attempt, t.begun = st.Attempts, revision
	t.span.SetAttributes(attribute.Int("pinion.attempt", t.attempt))
	if n := len(st.History); n > 1 {
		if prev := spanContext(st.History[n-2].Trace); prev.IsValid() {
			t.span.AddLink(trace.Link{SpanContext: prev})
		}
	}
	return st, nil
}

// exhausted says what became of the attempts.
func exhausted(st *Status) string {
	var why []string
	for _, a := range st.History {
		why = append(why, fmt.Sprintf("attempt %d on %s: %s", a.Attempt, a.Worker, orElse(a.Error, "the worker was lost")))
	}
	return truncate(fmt.Sprintf("%d attempts: %s", st.Attempts, strings.Join(why, "; ")), 2000)
}

// prove calls the handler. A panic of it is a failure of the attempt: the
// worker has other jobs in hand.
func (t *task) prove(ctx context.Context) (outcome *Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("handler panicked", "panic", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			outcome, err = nil, &Failure{Code: CodeInternal, Msg: "the worker panicked", Retry: true}
		}
	}()
	outcome, err = t.w.cfg.Handler.Prove(ctx, &Delivery{Job: t.job, Priority: t.lane, Attempt: t.attempt, task: t})
	if err != nil {
		return nil, err
	}
	if outcome == nil || len(outcome.Proofs) != len(t.job.Witnesses) ||
		slices.ContainsFunc(outcome.Proofs, func(p Proof) bool { return len(p.Proof) == 0 || len(p.Public)%32 != 0 }) {
		return nil, &Failure{Code: CodeInternal, Msg: fmt.Sprintf("the handler returned no %d proofs", len(t.job.Witnesses)), Retry: true}
	}
	return outcome, nil
}

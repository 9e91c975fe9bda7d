package queue

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace"
)

// concludeTimeout bounds the steps after a job's result is known, of those
// that no lease bounds.
const concludeTimeout = 30 * time.Second

// result is what all results of this task share.
func (t *task) result(s State) *Result {
	r := &Result{
		ID: t.id, Job: t.digest, State: s, Attempt: t.attempt, Worker: t.w.cfg.Name,
		Timings: Timings{Queue: t.queued, Decode: t.decode, Total: time.Since(t.received)},
	}
	if t.job != nil {
		_, r.Circuit, _ = strings.Cut(t.job.Circuit, "@")
	}
	if id := t.span.SpanContext().TraceID(); id.IsValid() {
		r.Trace = id.String()
	}
	return r
}

func (t *task) done(o *Outcome) *Result {
	r := t.result(Done)
	r.Proofs, r.Device = o.Proofs, truncate(o.Device, 256)
	queue, decode, total := r.Timings.Queue, r.Timings.Decode, r.Timings.Total
	r.Timings = o.Timings
	r.Timings.Queue, r.Timings.Decode, r.Timings.Total = queue, decode, total
	if r.Timings.Fetch == 0 {
		t.mu.Lock()
		r.Timings.Fetch = t.fetchTime
		t.mu.Unlock()
	}
	if n := len(EncodeResult(r)); n > MaxResultBytes-resultHeaders {
		return t.failed(&Failure{
			Code: CodeResultTooLarge, Msg: fmt.Sprintf("result of %d bytes, expected at most %d", n, MaxResultBytes-resultHeaders),
		})
	}
	return r
}

// resultHeaders is room for the headers of a result's message.
const resultHeaders = 1024

func (t *task) failed(f *Failure) *Result {
	r := t.result(Failed)
	r.Err = &Failure{Code: Code(truncate(string(f.Code), 64)), Msg: truncate(f.Msg, maxMessage), Retry: f.Retry}
	return r
}

// ended is the result of a job that was cancelled or whose deadline passed:
// perhaps because no worker could take it, which the record knows.
func (t *task) ended(cause error, st *Status) *Result {
	state, f := Cancelled, &Failure{Code: CodeCancelled, Msg: "cancelled by a producer"}
	if errors.Is(cause, ErrExpired) {
		state, f = Expired, &Failure{Code: CodeDeadline, Msg: fmt.Sprintf("deadline %s passed", t.job.Deadline.UTC().Format(time.RFC3339Nano))}
	}
	if st.Deferrals > 0 {
		f.Msg = truncate(fmt.Sprintf("%s; handed on %d times: %s", f.Msg, st.Deferrals, st.Deferred), maxMessage)
	}
	r := t.result(state)
	r.Err = f
	return r
}

// conclude ends the job with a result of this worker, or with the one that is
// stored already. A failed job's dead letter comes before everything else.
// Without a lease in hand the message is terminated: nothing was begun.
func (t *task) conclude(ctx context.Context, r *Result, st *Status) error {
	reason := ""
	if t.claimed == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, concludeTimeout)
		defer cancel()
		if r.State == Failed {
			reason = r.Err.Error()
		}
	}
	if r.State == Failed {
		if st != nil && t.attempt > 0 {
			st.end(r.Err.Error())
		}
		// Perhaps it failed for what another worker's success has removed.
		if concluded, err := t.concluded(ctx, t.w.foundNow(ctx, t.id)); concluded || err != nil {
			return err
		}
		if err := t.deadLetter(ctx, t.id, r.Err, st); err != nil {
			return t.postpone(err)
		}
	}
	stored, body, err := t.store(ctx, r)
	if err != nil {
		return t.postpone(err)
	}
	return t.settle(ctx, stored, st, body, reason)
}

// store publishes the result, as often as it takes while ctx lasts, and
// returns the one that is stored: the first wins. The message id names the
// attempt and not the job, for else the broker would call another worker's
// different result a duplicate, and report success.
func (t *task) store(ctx context.Context, r *Result) (*Result, []byte, error) {
	body := EncodeResult(r)
	msg := nats.NewMsg(ResultSubject(t.id))
	msg.Header.Set("Content-Type", ContentResult)
	inject(ctx, msg.Header)
	msg.Data = body
	id := fmt.Sprintf("%s.%s.%d", t.id, t.w.cfg.Name, t.attempt)
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ack, err := publish(ctx, t.w.js, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(StreamResults))
		first, refused := isRefused(err)
		switch {
		case err == nil && !ack.Duplicate:
			t.w.counts.stored(r.State)
			return r, body, nil
		case err == nil, refused && first:
			var stored *Result
			if stored, body, err = t.w.resultNow(ctx, t.id); err == nil {
				return stored, body, nil
			}
		}
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		t.log.Warn("result not stored yet", "error", err)
		pause(ctx, wait)
	}
}

// settle follows once a result is stored: tell whom it concerns, clean up,
// acknowledge. The job is over, so none of it depends on the lease any more.
// st is the record as this attempt began it, nil if none has.
func (t *task) settle(ctx context.Context, r *Result, st *Status, body []byte, reason string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTimeout)
	defer cancel()
	kind := KindResult
	if r.State != Done {
		kind = KindError
	}
	t.send(kind, true, ContentResult, body)
	t.endSpan(resultError(r))
	t.sendSpans(ctx)
	t.announce(&Progress{ID: t.id, State: r.State, Attempt: r.Attempt, Worker: r.Worker, At: time.Now(), Percent: 100}, true)
	t.record(ctx, r, st)
	t.removeWitnesses(ctx, r.State)
	if err := t.ack(ctx, reason); err != nil {
		return err
	}
	if t.claimed != nil {
		if err := t.claimed.drop(); err != nil {
			t.log.Debug("lease not given back", "error", err)
		}
	}
	attrs := []any{"state", r.State, "attempt", r.Attempt, "by", r.Worker, "total", r.Timings.Total}
	if r.Err != nil {
		attrs = append(attrs, "error", r.Err)
	}
	t.log.Info("job concluded", attrs...)
	return nil
}

// resultError is a result's error; nil for one that is done.
func resultError(r *Result) error {
	if r.Err == nil {
		return nil
	}
	return r.Err
}

// record notes the end in the job's record, which is for who asks; the
// result is what counts.
func (t *task) record(ctx context.Context, r *Result, st *Status) {
	end := func(st *Status) error {
		if st.State.Final() {
			return errUnchanged
		}
		st.State, st.Phase, st.Percent, st.At = r.State, "", 100, time.Now()
		st.Attempt, st.Worker = r.Attempt, r.Worker
		if r.Err != nil && t.attempt > 0 && r.Attempt == t.attempt {
			st.end(r.Err.Error())
		}
		return nil
	}
	if t.attempt == 0 {
		st = nil
	}
	_, _, err := t.w.updateFrom(ctx, t.id, st, t.begun, end)
	if err != nil && !errors.Is(err, errUnchanged) {
		t.log.Warn("record not updated", "error", err)
	}
}

// removeWitnesses deletes what was uploaded for the job. A failed one's stays
// as long as its dead letter.
func (t *task) removeWitnesses(ctx context.Context, s State) {
	if t.job == nil || s == Failed {
		return
	}
	for _, w := range t.job.Witnesses {
		if w.Object == nil {
			continue
		}
		if err := t.w.witness.remove(ctx, w.Object.Name); err != nil {
			t.log.Warn("witness not deleted", "error", err)
		}
	}
}

// ack takes the job off the queue; with a reason, by terminating it.
func (t *task) ack(ctx context.Context, reason string) (err error) {
	ctx, span := t.w.cfg.Tracer.Start(ctx, "ack "+t.lane.Lane(), trace.WithSpanKind(trace.SpanKindClient), messaging("ack", "settle", t.id, t.lane))
	defer func() {
		recordError(span, err)
		span.End()
	}()
	if reason != "" {
		err = t.msg.TermWithReason(truncate(oneLine(reason), 200))
	} else {
		ctx, stop := Guard(ctx, t.w.nc, t.msg.Reply())
		defer stop()
		err = Refusal(ctx, patiently(ctx, func(ctx context.Context) error { return t.msg.DoubleAck(ctx) }))
	}
	if err != nil {
		return fmt.Errorf("%w: ack: %w", errLeft, err)
	}
	return nil
}

// oneLine keeps a text from ending a protocol line early.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, s)
}

// conflict refuses a job whose id is another's: whose record, result and
// witnesses are not to be touched. Only the reply and the dead letter tell.
func (t *task) conflict(ctx context.Context) error {
	r := t.failed(&Failure{Code: CodeIDConflict, Msg: fmt.Sprintf("id %s belongs to another job", t.id)})
	t.log.Warn("id conflict")
	if err := t.deadLetter(ctx, t.id, r.Err, nil); err != nil {
		return t.postpone(err)
	}
	t.send(KindError, true, ContentResult, EncodeResult(r))
	t.endSpan(r.Err)
	t.sendSpans(ctx)
	return t.ack(ctx, r.Err.Error())
}

// banish removes a message whose subject names no job.
func (t *task) banish(ctx context.Context, cause error) {
	t.digest = digestOf(t.msg.Data())
	f := &Failure{Code: CodeInvalidJob, Msg: cause.Error()}
	if err := t.deadLetter(ctx, fmt.Sprintf("invalid-%x", t.digest[:8]), f, nil); err != nil {
		t.log.Error("dead letter", "error", t.postpone(err))
		return
	}
	if err := t.msg.TermWithReason(truncate(oneLine(f.Error()), 200)); err != nil {
		t.log.Error("terminate", "error", err)
	}
}

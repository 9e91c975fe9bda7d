package queue

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// judge decides what follows from what the handler returned. Why its context
// ended goes before what it says about that.
func (t *task) judge(ctx, jobCtx context.Context, st *Status, outcome *Outcome, err error) error {
	cause := context.Cause(jobCtx)
	var (
		failure  *Failure
		deferred *Defer
	)
	switch {
	case errors.Is(context.Cause(ctx), ErrLeaseLost):
		return context.Cause(ctx)
	case err == nil:
		return t.conclude(ctx, t.done(outcome), st)
	case errors.Is(cause, ErrCancelled), errors.Is(cause, ErrExpired):
		return t.conclude(ctx, t.ended(cause, st), st)
	case errors.Is(cause, ErrDrained):
		if t.reachedDevice() {
			return fmt.Errorf("%w: %w", errLeft, cause)
		}
		return t.again(ctx, 0, giveBack, cause.Error())
	case errors.As(err, &deferred):
		return t.deferOn(ctx, st, deferred)
	case !errors.As(err, &failure):
		failure = &Failure{Code: CodeInternal, Msg: truncate(err.Error(), 2000), Retry: true, Err: err}
	}
	if failure.Retry && t.attempt < MaxAttempts {
		t.w.counts.retried.Add(1)
		recordError(t.span, failure)
		t.log.Warn("attempt failed", "attempt", t.attempt, "error", err)
		return t.again(ctx, t.w.cfg.RetryDelay<<(t.attempt-1), nil, failure.Error())
	}
	return t.conclude(ctx, t.failed(failure), st)
}

// owns reports that the record's latest attempt is this one. The record knows
// of a lost lease before the next heartbeat does.
func (t *task) owns(st *Status) bool {
	return t.attempt == 0 || st.Attempts == t.attempt && st.Worker == t.w.cfg.Name
}

// giveBack takes back the attempt that begin counted.
func giveBack(st *Status) {
	st.Attempts--
	if n := len(st.History); n > 0 {
		st.History = st.History[:n-1]
	}
}

// deferOn hands the job on, unless that was done too often.
func (t *task) deferOn(ctx context.Context, st *Status, d *Defer) error {
	if st.Deferrals >= t.w.cfg.MaxDeferrals {
		return t.conclude(ctx, t.failed(&Failure{
			Code: CodeDeferrals, Msg: truncate(fmt.Sprintf("handed on %d times: %s", st.Deferrals, d.Reason), 2000),
		}), st)
	}
	t.w.counts.deferred.Add(1)
	t.log.Info("deferred", "for", d.After, "reason", d.Reason)
	after := min(max(d.After, 100*time.Millisecond), 5*time.Minute)
	if !t.job.Deadline.IsZero() { // be there when it passes
		after = min(after, max(time.Until(t.job.Deadline), time.Millisecond))
	}
	return t.again(ctx, after, func(st *Status) {
		giveBack(st)
		st.Deferrals++
		st.Deferred = truncate(d.Reason, 2000)
	}, "")
}

// again hands the job back for another delivery: the record first, then the
// lease, and the nak only if the lease was ours to the end.
func (t *task) again(ctx context.Context, delay time.Duration, change func(*Status), why string) error {
	_, err := t.w.update(ctx, t.id, func(st *Status) error {
		if !t.owns(st) {
			return ErrLeaseLost
		}
		st.State, st.Phase, st.Percent, st.At = Queued, "", 0, time.Now()
		st.end(why)
		if change != nil {
			change(st)
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrLeaseLost):
		return err
	case err != nil:
		t.log.Warn("record not updated", "error", err)
	}
	if err := t.claimed.release(ctx); err != nil {
		return err
	}
	if delay == 0 {
		return t.msg.Nak()
	}
	return t.msg.NakWithDelay(delay)
}

// postpone hands the job back after trouble with the broker, before the lease
// was taken.
func (t *task) postpone(cause error) error {
	if t.claimed != nil {
		return cause // with the lease in hand, the ack wait sees to it
	}
	if err := t.msg.NakWithDelay(t.w.cfg.RetryDelay); err != nil {
		return errors.Join(cause, err)
	}
	return cause
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// claimed is a task's lease with the heartbeat that keeps it and the ack wait
// alive.
type claimed struct {
	lease *lease
	ctx   context.Context // ends with the lease, ErrLeaseLost its cause
	lost  context.CancelCauseFunc
	stop  context.CancelFunc // of the heartbeat
	beats sync.WaitGroup
	once  sync.Once
}

// claim takes the job's lease and starts its heartbeat.
func (t *task) claim(ctx context.Context) error {
	l, err := t.w.claim(ctx, t.id, t.w.cfg.Name, t.w.leaseTTL())
	if err != nil {
		return err
	}
	c := &claimed{lease: l}
	c.ctx, c.lost = context.WithCancelCause(ctx)
	beat, stop := context.WithCancel(c.ctx)
	c.stop = stop
	t.claimed = c
	c.beats.Go(func() { t.heartbeat(beat, c) })
	return nil
}

// heartbeat tells the broker that the job is in work and renews the lease,
// each third of the ack wait. It ends the claim when somebody else has the
// lease, when no renewal succeeded for a whole ack wait (half of the lease's
// life, so before anybody else can have it), and when the device is sick.
func (t *task) heartbeat(ctx context.Context, c *claimed) {
	every := t.w.ackWait / 3
	tick := time.NewTicker(every)
	defer tick.Stop()
	renewed := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := t.w.cfg.Healthy(); err != nil {
			c.lost(fmt.Errorf("%w: given up, the device is unhealthy: %w", ErrLeaseLost, err))
			return
		}
		err := t.beat(ctx, c.lease, every)
		switch {
		case err == nil:
			renewed = time.Now()
		case ctx.Err() != nil:
			return
		case errors.Is(err, ErrLeaseLost):
			c.lost(err)
			return
		case time.Since(renewed) >= t.w.ackWait:
			c.lost(fmt.Errorf("%w: not renewed for %s: %w", ErrLeaseLost, t.w.ackWait, err))
			return
		default:
			t.log.Warn("heartbeat", "error", err)
		}
	}
}

// beat is one heartbeat. The job's record tells the phase to who asks, and
// whether a cancellation was missed.
func (t *task) beat(ctx context.Context, l *lease, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if err := l.renew(ctx); err != nil {
		return err
	}
	if err := t.msg.InProgress(); err != nil {
		return fmt.Errorf("queue: heartbeat: %w", err)
	}
	phase, percent := t.progress()
	if phase == "" {
		return nil // not begun
	}
	st, err := t.w.update(ctx, t.id, func(st *Status) error {
		if st.State != Running || !t.owns(st) {
			return errUnchanged
		}
		st.Phase, st.Percent, st.At = phase, percent, time.Now()
		return nil
	})
	if st != nil && st.Cancelled {
		t.interrupt(ErrCancelled)
	}
	if err != nil && !errors.Is(err, errUnchanged) {
		t.log.Warn("record not updated", "error", err)
	}
	return nil // the lease was renewed
}

var errUnchanged = errors.New("queue: record stays as it is")

// halt stops the heartbeat and waits for its end.
func (c *claimed) halt() {
	c.stop()
	c.beats.Wait()
}

// release gives the lease back; an error says that it wasn't ours to the end,
// or may not have been.
func (c *claimed) release(ctx context.Context) error {
	err := error(nil)
	c.once.Do(func() {
		c.halt()
		if err = context.Cause(c.ctx); err == nil {
			err = c.lease.release(ctx)
		}
	})
	if err != nil && !errors.Is(err, ErrLeaseLost) {
		err = fmt.Errorf("%w: %w", errLeft, err)
	}
	return err
}

// drop is release once the job is over, when nothing depends on it any more.
func (c *claimed) drop() (err error) {
	c.once.Do(func() {
		c.halt()
		if err = context.Cause(c.ctx); err == nil {
			err = c.lease.drop()
		}
	})
	return err
}

// endClaim ends what claim began. A lease that wasn't given back is left to
// run out.
func (t *task) endClaim() {
	if t.claimed == nil {
		return
	}
	t.claimed.halt()
	t.claimed.lost(nil)
}

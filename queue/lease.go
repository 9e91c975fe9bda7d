package queue

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// lease is the right to work on a job: the key lease.<job> in [BucketState],
// written by compare and set with a time to live. Not safe for concurrent
// use.
//
// The bucket's own Update can't renew it: that drops the time to live.
type lease struct {
	s       *store
	subject string
	holder  string // worker and a nonce, so that one worker's claims differ
	seq     uint64 // of the last write
	follows bool   // on one that was given back a moment ago
	ttl     time.Duration
}

// heldError says that another lease on the job is alive.
type heldError struct{ left time.Duration }

func (e *heldError) Error() string { return fmt.Sprintf("queue: lease is held for %s more", e.left) }

// claim takes the lease of a job, or returns a heldError.
func (s *store) claim(ctx context.Context, id, worker string, ttl time.Duration) (*lease, error) {
	l := &lease{s: s, subject: stateSubject(leaseKey(id)), holder: worker + " " + nuid.Next(), ttl: ttl}
	const tries = 3
	for range tries {
		err := l.write(ctx)
		if err == nil || !isWrongSequence(err) {
			return l, err
		}
		last, err := newest(ctx, s.js, stateStream, l.subject)
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			l.seq = 0 // it ended just now
		case err != nil:
			return nil, fmt.Errorf("queue: read lease of %s: %w", id, err)
		case string(last.Data) == l.holder: // it was written, and the answer was lost
			l.seq = last.Sequence
			return l, nil
		case !isMarker(last):
			return nil, &heldError{left: leftOf(last, ttl)}
		default:
			l.seq, l.follows = last.Sequence, true // released: a marker
		}
	}
	return nil, fmt.Errorf("queue: lease of %s: not taken in %d tries", id, tries)
}

// leftOf is how long a lease still lives, as far as the clocks of broker and
// worker agree: between 100 ms and its whole time to live.
func leftOf(msg *jetstream.RawStreamMsg, ttl time.Duration) time.Duration {
	if s, err := time.ParseDuration(msg.Header.Get(jetstream.MsgTTLHeader)); err == nil {
		ttl = s
	}
	return min(max(time.Until(msg.Time.Add(ttl)), 100*time.Millisecond), ttl)
}

// renew extends the lease by its time to live. ErrLeaseLost is final; any
// other error leaves it open whether the lease was extended.
func (l *lease) renew(ctx context.Context) error {
	err := l.write(ctx)
	if !isWrongSequence(err) {
		return err
	}
	// Perhaps an earlier write of ours succeeded and its answer was lost.
	last, err := newest(ctx, l.s.js, stateStream, l.subject)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return ErrLeaseLost
	case err != nil:
		return fmt.Errorf("queue: read lease: %w", err)
	case string(last.Data) != l.holder:
		return ErrLeaseLost
	}
	l.seq = last.Sequence
	if err = l.write(ctx); isWrongSequence(err) {
		return ErrLeaseLost
	}
	return err
}

// release ends the lease, if it is still this one.
func (l *lease) release(ctx context.Context) error {
	_, err := publish(ctx, l.s.js, l.end(),
		jetstream.WithExpectLastSequencePerSubject(l.seq), jetstream.WithMsgTTL(markerTTL))
	if isWrongSequence(err) {
		return ErrLeaseLost
	} else if err != nil {
		return fmt.Errorf("queue: release lease: %w", err)
	}
	return nil
}

// drop is release without waiting to hear of it: should it fail, the lease runs
// out by itself.
func (l *lease) drop() error {
	msg := l.end()
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(l.seq, 10))
	msg.Header.Set(jetstream.MsgTTLHeader, markerTTL.String())
	return l.s.nc.PublishMsg(msg)
}

// end is the marker of a lease that was given back.
func (l *lease) end() *nats.Msg {
	msg := nats.NewMsg(l.subject)
	msg.Header.Set("KV-Operation", "PURGE")
	return msg
}

// markerTTL is how long a marker stays: the shortest that the broker takes.
const markerTTL = time.Second

func (l *lease) write(ctx context.Context) error {
	msg := nats.NewMsg(l.subject)
	msg.Data = []byte(l.holder)
	ack, err := publish(ctx, l.s.js, msg,
		jetstream.WithExpectLastSequencePerSubject(l.seq), jetstream.WithMsgTTL(l.ttl))
	if err != nil {
		return fmt.Errorf("queue: write lease: %w", err)
	}
	l.seq = ack.Sequence
	return nil
}

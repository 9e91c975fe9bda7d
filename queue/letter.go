package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// DeadLetter is a failed job with what became of it, in [StreamDead].
type DeadLetter struct {
	ID      string
	Subject string // where the job was queued
	Code    Code
	Error   string
	Attempt int // the last; 0 if no work began
	Worker  string
	At      time.Time // when it was stored, by the broker's clock
	History []Attempt
	// Body is the job's, as it was queued: see [DecodeJob]. Nil in a list.
	Body []byte

	replyTo string // the original's header
}

// DeadLetter returns the latest dead letter of a job, or ErrNoDeadLetter.
func (c *Client) DeadLetter(ctx context.Context, id string) (*DeadLetter, error) {
	if !ValidToken(id) {
		return nil, ErrNoDeadLetter
	}
	ctx, stop := Guard(ctx, c.nc, "$JS.API.STREAM.")
	defer stop()
	stream, err := c.js.Stream(ctx, StreamDead)
	if err != nil {
		return nil, unprovisioned("stream "+StreamDead, Refusal(ctx, err))
	}
	msg, err := stream.GetLastMsgForSubject(ctx, DeadSubject(id))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, ErrNoDeadLetter
	} else if err != nil {
		return nil, fmt.Errorf("queue: read dead letter of %s: %w", id, Refusal(ctx, err))
	}
	letter := newDeadLetter(msg.Subject, msg.Header, msg.Time)
	letter.Body = msg.Data
	return letter, nil
}

// DeadLetters yields the latest dead letter of each job, without its body, the
// oldest first. An error is the last thing that it yields.
func (c *Client) DeadLetters(ctx context.Context) iter.Seq2[*DeadLetter, error] {
	return func(yield func(*DeadLetter, error) bool) {
		if err := c.deadLetters(ctx, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (c *Client) deadLetters(ctx context.Context, yield func(*DeadLetter, error) bool) error {
	ctx, stop := Guard(ctx, c.nc, "$JS.API.CONSUMER.")
	defer stop()
	consumer, err := c.js.OrderedConsumer(ctx, StreamDead, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{DeadSubject("*")}, HeadersOnly: true,
	})
	if err != nil {
		return unprovisioned("stream "+StreamDead, Refusal(ctx, err))
	}
	left := consumer.CachedInfo().NumPending
	if left == 0 {
		return nil
	}
	messages, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("queue: list dead letters: %w", err)
	}
	defer messages.Stop()
	for left > 0 {
		msg, err := messages.Next(jetstream.NextContext(ctx))
		if ctx.Err() != nil {
			return context.Cause(ctx)
		} else if err != nil {
			return fmt.Errorf("queue: list dead letters: %w", err)
		}
		meta, err := msg.Metadata()
		if err != nil {
			return fmt.Errorf("queue: list dead letters: %w", err)
		}
		left = meta.NumPending
		if !yield(newDeadLetter(msg.Subject(), msg.Headers(), meta.Timestamp), nil) {
			return nil
		}
	}
	return nil
}

// newDeadLetter reads the headers, as far as they can be read: the broker lets
// others write such messages.
func newDeadLetter(subject string, h nats.Header, at time.Time) *DeadLetter {
	l := &DeadLetter{
		ID: strings.TrimPrefix(subject, DeadSubject("")), Subject: h.Get(HeaderSubject), Code: Code(h.Get(HeaderCode)),
		Error: h.Get(HeaderError), Worker: h.Get(HeaderWorker), At: at, replyTo: carrier(h).Get(HeaderReplyTo),
	}
	l.Attempt, _ = strconv.Atoi(h.Get(HeaderAttempt))
	_ = json.Unmarshal([]byte(h.Get(HeaderHistory)), &l.History)
	return l
}

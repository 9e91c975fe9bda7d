package queue

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
)

// Kind says what a message on a reply subject is.
type Kind string

// Kinds of replies.
const (
	KindResult   Kind = "result"   // a Result that is done
	KindError    Kind = "error"    // a Result that isn't
	KindProgress Kind = "progress" // a Progress
	KindSpans    Kind = "spans"    // an OTLP ExportTraceServiceRequest
)

// Reply is a message on a reply subject.
type Reply struct {
	Kind    Kind
	Job     string
	Attempt int
	// Final: the job's outcome, after which only its spans may come.
	Final    bool
	Result   *Result   // KindResult, KindError
	Progress *Progress // KindProgress
	Spans    []byte    // KindSpans: protobuf
}

// Inbox is a reply subject of one's own, for any number of jobs.
type Inbox struct {
	sub *nats.Subscription
}

// NewInbox subscribes to a fresh reply subject.
func (c *Client) NewInbox() (*Inbox, error) {
	sub, err := c.nc.SubscribeSync(c.nc.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("queue: inbox: %w", err)
	}
	return &Inbox{sub: sub}, nil
}

// Subject is what goes into [Request].Reply.
func (i *Inbox) Subject() string { return i.sub.Subject }

// Next waits for the next reply; messages that are no replies are left out.
func (i *Inbox) Next(ctx context.Context) (*Reply, error) {
	for {
		msg, err := i.sub.NextMsgWithContext(ctx)
		if refused, ok := asRefused(err); ok {
			return nil, refused
		} else if err != nil {
			return nil, fmt.Errorf("queue: inbox: %w", err)
		}
		if r, err := ParseReply(msg); err == nil {
			return r, nil
		}
	}
}

// Close ends the subscription.
func (i *Inbox) Close() error { return i.sub.Unsubscribe() }

// ParseReply reads a message from a reply subject, for those who subscribe
// themselves.
func ParseReply(msg *nats.Msg) (*Reply, error) {
	r := &Reply{
		Kind:  Kind(msg.Header.Get(HeaderKind)),
		Job:   msg.Header.Get(HeaderJob),
		Final: msg.Header.Get(HeaderFinal) == "true",
	}
	r.Attempt, _ = strconv.Atoi(msg.Header.Get(HeaderAttempt))
	var err error
	switch r.Kind {
	case KindResult, KindError:
		r.Result, err = DecodeResult(msg.Data)
	case KindProgress:
		r.Progress, err = DecodeProgress(msg.Data)
	case KindSpans:
		r.Spans = msg.Data
	default:
		err = &MalformedError{"reply", HeaderKind, fmt.Sprintf("%.40q", r.Kind), "result, error, progress or spans"}
	}
	return r, err
}

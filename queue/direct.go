package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Direct gets need a permission for what they read and for nothing else; the
// client library would look at the whole stream first.

// lastMessage reads the last message of a subject of a stream.
// jetstream.ErrMsgNotFound if there is none, nats.ErrNoResponders if nothing
// answers for the stream.
func lastMessage(ctx context.Context, nc *nats.Conn, stream, subject string) (*jetstream.RawStreamMsg, error) {
	get := directGet(stream) + "." + subject
	ctx, stop := Guard(ctx, nc, get)
	defer stop()
	msg, err := requestOnce(ctx, nc, get)
	for try := 1; unanswered(err) && ctx.Err() == nil && try < getTries; try++ {
		pause(ctx, getPause) // perhaps its leader changes, or the replica that was asked is lost
		msg, err = requestOnce(ctx, nc, get)
	}
	if err != nil {
		return nil, Refusal(ctx, err)
	}
	return storedMessage(msg)
}

func requestOnce(ctx context.Context, nc *nats.Conn, subject string) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return nc.RequestWithContext(ctx, subject, nil)
}

const (
	getTries = 3
	getPause = 250 * time.Millisecond
)

func directGet(stream string) string { return "$JS.API.DIRECT.GET." + stream }

// storedMessage reads the answer to a direct get.
func storedMessage(msg *nats.Msg) (*jetstream.RawStreamMsg, error) {
	if brokerSays(msg, jetstream.SequenceHeader) == "" {
		if msg.Header.Get("Status") == "404" {
			return nil, jetstream.ErrMsgNotFound
		}
		return nil, fmt.Errorf("the broker answers %s %s", msg.Header.Get("Status"), msg.Header.Get("Description"))
	}
	sequence, err := strconv.ParseUint(brokerSays(msg, jetstream.SequenceHeader), 10, 63)
	if err != nil {
		return nil, fmt.Errorf("the broker answers with the sequence %.40q", brokerSays(msg, jetstream.SequenceHeader))
	}
	at, err := time.Parse(time.RFC3339Nano, brokerSays(msg, jetstream.TimeStampHeaer))
	if err != nil {
		return nil, fmt.Errorf("the broker answers with the time %.40q", brokerSays(msg, jetstream.TimeStampHeaer))
	}
	return &jetstream.RawStreamMsg{
		Subject: brokerSays(msg, jetstream.SubjectHeader), Sequence: sequence, Header: msg.Header, Data: msg.Data, Time: at,
	}, nil
}

// brokerSays is a header that the broker adds to a stored message: it comes
// after those that the message was stored with.
func brokerSays(msg *nats.Msg, header string) string {
	values := msg.Header.Values(header)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}

// directReader reads a stream's messages of one subject, or of those that a
// wildcard matches, by batched direct gets, a window at a time: no consumer to
// set up or to lose, and a reader may be as slow as it likes. A window that
// stalls is asked for again from where it stopped.
type directReader struct {
	nc      *nats.Conn
	stream  string
	subject string
	window  int // messages asked for at once
	sub     *nats.Subscription

	next   uint64 // sequence to ask from
	asked  bool   // a window is under way
	stalls int    // in a row
}

const (
	readWindow   = 16
	stallTimeout = 5 * time.Second
	maxStalls    = 6
)

func newDirectReader(nc *nats.Conn, stream, subject string) (*directReader, error) {
	r := &directReader{nc: nc, stream: stream, subject: subject, window: readWindow, next: 1}
	return r, r.subscribe()
}

// subscribe opens a fresh inbox, so that no late answer to an earlier request
// is taken for one to the next.
func (r *directReader) subscribe() error {
	if r.sub != nil {
		_ = r.sub.Unsubscribe()
	}
	sub, err := r.nc.SubscribeSync(r.nc.NewInbox())
	if err != nil {
		return err
	}
	r.sub, r.asked = sub, false
	return nil
}

func (r *directReader) close() error { return r.sub.Unsubscribe() }

// message returns the next message; io.EOF after the last.
func (r *directReader) message(ctx context.Context) (*jetstream.RawStreamMsg, error) {
	ctx, stop := Guard(ctx, r.nc, directGet(r.stream))
	defer stop()
	for {
		if !r.asked {
			if err := r.ask(); err != nil {
				return nil, err
			}
		}
		msg, err := r.receive(ctx)
		if err != nil {
			return nil, err
		} else if msg == nil {
			continue
		}
		switch stored, err := storedMessage(msg); {
		case err == nil && stored.Sequence < r.next:
			return nil, fmt.Errorf("the broker answers with sequence %d, expected at least %d", stored.Sequence, r.next)
		case err == nil:
			r.next, r.stalls = stored.Sequence+1, 0
			return stored, nil
		case errors.Is(err, jetstream.ErrMsgNotFound): // nothing from there on
			return nil, io.EOF
		case msg.Header.Get("Status") != "204":
			return nil, err
		}
		r.asked = false // the end of the window
		if msg.Header.Get("Nats-Num-Pending") == "0" {
			return nil, io.EOF
		}
	}
}

// receive waits for an answer; nil after a stall.
func (r *directReader) receive(ctx context.Context) (*nats.Msg, error) {
	waiting, cancel := context.WithTimeout(ctx, stallTimeout)
	defer cancel()
	msg, err := r.sub.NextMsgWithContext(waiting)
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		return msg, nil
	}
	if refused, ok := asRefused(err); ok {
		return nil, refused
	}
	if r.stalls++; r.stalls >= maxStalls {
		return nil, fmt.Errorf("no answer: %w", err)
	}
	return nil, r.subscribe()
}

// behind reports, after the last message, that the leader knows of more: then
// the reader has waited a moment, and goes on.
func (r *directReader) behind(ctx context.Context, js jetstream.JetStream) (bool, error) {
	last, err := leaderSequence(ctx, js, r.subject)
	if err != nil || last < r.next {
		return false, err
	}
	if r.stalls++; r.stalls >= maxStalls {
		return false, fmt.Errorf("stream %s: a replica stays behind", r.stream)
	}
	pause(ctx, lagPause)
	r.asked = false
	return true, nil
}

// lagPause is how long a replica is given to catch up.
const lagPause = 500 * time.Millisecond

func (r *directReader) ask() error {
	request, err := json.Marshal(struct {
		Seq   uint64 `json:"seq"`
		Next  string `json:"next_by_subj"`
		Batch int    `json:"batch"`
	}{r.next, r.subject, r.window})
	if err != nil {
		return err
	}
	r.asked = true
	return r.nc.PublishRequest(directGet(r.stream), r.sub.Subject, request)
}

package queue

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// objectReader reads an object's chunks by batched direct gets, a window at a
// time: no consumer to set up or to lose, and a reader may be as slow as it
// likes. A window that stalls is asked for again from where it stopped.
type objectReader struct {
	ctx   context.Context
	o     *objects
	ref   *Object
	chunk string // subject
	sub   *nats.Subscription

	next   uint64 // sequence to ask from
	asked  bool   // a window is under way
	stalls int    // in a row
	rest   []byte // of the current chunk
	read   int64
	sum    hash.Hash
	err    error
}

const (
	stallTimeout = 5 * time.Second
	maxStalls    = 6
)

func newObjectReader(ctx context.Context, o *objects, ref *Object, chunk string) (*objectReader, error) {
	r := &objectReader{ctx: ctx, o: o, ref: ref, chunk: chunk, next: 1, sum: sha256.New()}
	return r, r.subscribe()
}

// subscribe opens a fresh inbox, so that no late answer to an earlier request
// is taken for one to the next.
func (r *objectReader) subscribe() error {
	if r.sub != nil {
		_ = r.sub.Unsubscribe()
	}
	sub, err := r.o.nc.SubscribeSync(r.o.nc.NewInbox())
	if err != nil {
		return fmt.Errorf("queue: read object %s: %w", r.ref.Name, err)
	}
	r.sub, r.asked = sub, false
	return nil
}

func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.err = r.advance()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the reading; it may be called at any point, once Read isn't.
func (r *objectReader) Close() error {
	if r.err == nil {
		r.err = errors.New("queue: object is closed")
	}
	r.rest = nil
	return r.sub.Unsubscribe()
}

// advance fetches the next chunk, or ends with io.EOF or what is wrong.
func (r *objectReader) advance() error {
	if !r.asked {
		if err := r.ask(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(r.ctx, stallTimeout)
	defer cancel()
	msg, err := r.sub.NextMsgWithContext(ctx)
	switch {
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case err != nil:
		return r.stalled(err)
	}
	if sequence := msg.Header.Values("Nats-Sequence"); len(sequence) > 0 {
		// A chunk, whatever headers it was stored with: the broker's come last.
		return r.take(sequence[len(sequence)-1], msg.Data)
	}
	switch status := msg.Header.Get("Status"); status {
	case "204": // end of the window
		r.asked = false
		if msg.Header.Get("Nats-Num-Pending") == "0" {
			return r.finish()
		}
		return nil
	case "404": // nothing from there on
		return r.finish()
	default:
		return fmt.Errorf("queue: read object %s: broker answers %s %s", r.ref.Name, status, msg.Header.Get("Description"))
	}
}

func (r *objectReader) ask() error {
	request, err := json.Marshal(struct {
		Seq   uint64 `json:"seq"`
		Next  string `json:"next_by_subj"`
		Batch int    `json:"batch"`
	}{r.next, r.chunk, readWindow})
	if err != nil {
		return err
	}
	if err := r.o.nc.PublishRequest("$JS.API.DIRECT.GET.OBJ_"+r.o.bucket, r.sub.Subject, request); err != nil {
		return fmt.Errorf("queue: read object %s: %w", r.ref.Name, err)
	}
	r.asked = true
	return nil
}

func (r *objectReader) stalled(cause error) error {
	if r.stalls++; r.stalls >= maxStalls {
		return fmt.Errorf("queue: read object %s: no answer after %d of %d bytes: %w", r.ref.Name, r.read, r.ref.Len, cause)
	}
	return r.subscribe()
}

func (r *objectReader) take(sequence string, data []byte) error {
	seq, err := strconv.ParseUint(sequence, 10, 63)
	if err != nil || seq < r.next {
		return fmt.Errorf("queue: read object %s: chunk with sequence %.40q, expected at least %d", r.ref.Name, sequence, r.next)
	}
	r.next, r.stalls = seq+1, 0
	r.read += int64(len(data))
	if r.read > r.ref.Len {
		return &Failure{Code: CodeWitnessDigest, Msg: fmt.Sprintf("object %s: found more than the %d bytes expected", r.ref.Name, r.ref.Len)}
	}
	r.sum.Write(data)
	r.rest = data
	return nil
}

// finish checks the whole.
func (r *objectReader) finish() error {
	if r.read < r.ref.Len {
		// Evicted or deleted; or, on a cluster, a replica that is behind.
		return &Failure{
			Code: CodeWitnessMissing, Retry: true,
			Msg: fmt.Sprintf("object %s: found %d of %d bytes", r.ref.Name, r.read, r.ref.Len),
		}
	}
	if got := [32]byte(r.sum.Sum(nil)); got != r.ref.SHA256 {
		return &Failure{Code: CodeWitnessDigest, Msg: fmt.Sprintf("object %s: found sha256 %x, expected %x", r.ref.Name, got, r.ref.SHA256)}
	}
	return io.EOF
}

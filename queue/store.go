package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// store is what clients and workers both bind to.
type store struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	witness *objects
}

// requestTimeout bounds one question to the broker.
const requestTimeout = 5 * time.Second

// bind asks for what isn't there, to see whether streams and buckets are.
func bind(ctx context.Context, nc *nats.Conn) (*store, error) {
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(requestTimeout))
	if err != nil {
		return nil, fmt.Errorf("queue: %w", err)
	}
	s := &store{nc: nc, js: js, witness: &objects{nc, js, BucketWitness}}
	for stream, subject := range map[string]string{StreamResults: ResultSubject("0"), stateStream: stateSubject(jobKey("0"))} {
		if _, err := lastMessage(ctx, nc, stream, subject); err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil, unprovisioned("stream "+stream, err)
		}
	}
	return s, nil
}

const stateStream = "KV_" + BucketState

func stateSubject(key string) string { return "$KV." + BucketState + "." + key }

// consumer looks up the consumer of a lane.
func (s *store) consumer(ctx context.Context, p Priority) (c jetstream.Consumer, err error) {
	err = s.ofConsumer(ctx, p, func(ctx context.Context) error {
		c, err = s.js.Consumer(ctx, StreamJobs, p.Consumer())
		return err
	})
	return c, err
}

// ofConsumer asks the broker something about the consumer of a lane.
func (s *store) ofConsumer(ctx context.Context, p Priority, ask func(context.Context) error) error {
	ctx, stop := Guard(ctx, s.nc, "$JS.API.CONSUMER.")
	defer stop()
	if err := patiently(ctx, ask); err != nil {
		return unprovisioned("consumer "+p.Consumer(), Refusal(ctx, err))
	}
	return nil
}

func unprovisioned(what string, err error) error {
	switch {
	case errors.Is(err, jetstream.ErrStreamNotFound), errors.Is(err, jetstream.ErrBucketNotFound), errors.Is(err, jetstream.ErrConsumerNotFound), errors.Is(err, nats.ErrNoResponders):
		return fmt.Errorf("%w: %s: %w", ErrNotProvisioned, what, err)
	}
	return fmt.Errorf("queue: %s: %w", what, err)
}

// storedResult reads the result of a job, or ErrNoResult, which a replica says
// that is behind, too: see resultNow.
func (s *store) storedResult(ctx context.Context, id string) (*Result, []byte, error) {
	msg, err := lastMessage(ctx, s.nc, StreamResults, ResultSubject(id))
	return readResult(id, msg, err)
}

// resultNow is storedResult as the leader knows it. For workers.
func (s *store) resultNow(ctx context.Context, id string) (*Result, []byte, error) {
	msg, err := newest(ctx, s.js, StreamResults, ResultSubject(id))
	return readResult(id, msg, err)
}

func readResult(id string, msg *jetstream.RawStreamMsg, err error) (*Result, []byte, error) {
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil, ErrNoResult
	} else if err != nil {
		return nil, nil, fmt.Errorf("queue: read result of %s: %w", id, err)
	}
	r, err := DecodeResult(msg.Data)
	return r, msg.Data, err
}

// status reads a job's record and its revision, or ErrUnknownJob: somebody may
// have deleted it, which has a revision too. A replica that is behind knows an
// older one, or none: see statusNow.
func (s *store) status(ctx context.Context, id string) (*Status, uint64, error) {
	record, err := lastMessage(ctx, s.nc, stateStream, stateSubject(jobKey(id)))
	return readStatus(id, record, err)
}

// statusNow is status as the leader knows it. For who may write records.
func (s *store) statusNow(ctx context.Context, id string) (*Status, uint64, error) {
	record, err := newest(ctx, s.js, stateStream, stateSubject(jobKey(id)))
	return readStatus(id, record, err)
}

func readStatus(id string, record *jetstream.RawStreamMsg, err error) (*Status, uint64, error) {
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, 0, ErrUnknownJob
	case err != nil:
		return nil, 0, fmt.Errorf("queue: read record of %s: %w", id, err)
	case isMarker(record):
		return nil, record.Sequence, ErrUnknownJob
	}
	st, err := decodeStatus(record.Data)
	return st, record.Sequence, err
}

// isMarker reports that the message tells of a key that was deleted.
func isMarker(msg *jetstream.RawStreamMsg) bool { return msg.Header.Get("KV-Operation") != "" }

// register makes the record of a job that is to be queued under subject, or
// finds it, and returns its revision too. ErrIDConflict if there is one and it
// is another job's. What is no record is written over: nothing else would
// remove it, and the job could neither run nor end.
func (s *store) register(ctx context.Context, id, subject string, digest [32]byte) (*Status, uint64, error) {
	st := &Status{
		Progress: Progress{ID: id, State: Queued, At: time.Now()},
		Job:      digest, Subject: subject,
	}
	revision, err := s.write(ctx, st, 0)
	if isWrongSequence(err) {
		var there *Status
		there, revision, err = s.statusNow(ctx, id)
		switch {
		case err == nil:
			return there, revision, there.conflict(subject, digest)
		case !errors.Is(err, ErrUnknownJob) && !errors.Is(err, ErrMalformed):
			return nil, 0, err
		}
		revision, err = s.write(ctx, st, revision)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("queue: create record of %s: %w", id, err)
	}
	return st, revision, nil
}

// registered reads the record of a job that is queued, or makes it: not all
// producers do, and it may have gone while the job waited.
func (s *store) registered(ctx context.Context, id, subject string, digest [32]byte) (*Status, uint64, error) {
	st, revision, err := s.status(ctx, id)
	if errors.Is(err, ErrUnknownJob) || errors.Is(err, ErrMalformed) {
		return s.register(ctx, id, subject, digest)
	} else if err != nil {
		return nil, 0, err
	}
	return st, revision, st.conflict(subject, digest)
}

// conflict is ErrIDConflict if the record is another job's.
func (s *Status) conflict(subject string, digest [32]byte) error {
	if s.Job != digest || s.Subject != subject {
		return fmt.Errorf("%w: %s", ErrIDConflict, s.ID)
	}
	return nil
}

// update changes a job's record by compare and set. An error of change ends
// it and is returned as it is.
func (s *store) update(ctx context.Context, id string, change func(*Status) error) (*Status, error) {
	st, _, err := s.updateFrom(ctx, id, nil, 0, change)
	return st, err
}

// updateFrom is update by who has read the record a moment ago, and tells the
// new revision: the record is read again only if st is nil, if it has changed
// since, or if change refuses what it was.
func (s *store) updateFrom(ctx context.Context, id string, st *Status, revision uint64, change func(*Status) error) (*Status, uint64, error) {
	known := st != nil && change(st) == nil
	for {
		if !known {
			var err error
			if st, revision, err = s.statusNow(ctx, id); err != nil {
				return nil, 0, err
			}
			if err := change(st); err != nil {
				return st, 0, err
			}
		}
		written, err := s.write(ctx, st, revision)
		switch {
		case err == nil:
			return st, written, nil
		case !isWrongSequence(err):
			return st, 0, fmt.Errorf("queue: update record of %s: %w", id, err)
		}
		if written := s.written(ctx, st); written > 0 {
			return st, written, nil
		}
		known = false
	}
}

// written is the revision of a record that is exactly this one, 0 if it isn't:
// then it was written after all, and the broker's answer was lost.
func (s *store) written(ctx context.Context, st *Status) uint64 {
	last, err := newest(ctx, s.js, stateStream, stateSubject(jobKey(st.ID)))
	if err != nil || !bytes.Equal(last.Data, encodeStatus(st)) {
		return 0
	}
	return last.Sequence
}

// write stores a record whose last revision is the given one, 0 for none.
func (s *store) write(ctx context.Context, st *Status, revision uint64) (uint64, error) {
	msg := nats.NewMsg(stateSubject(jobKey(st.ID)))
	msg.Data = encodeStatus(st)
	ack, err := publish(ctx, s.js, msg, jetstream.WithExpectLastSequencePerSubject(revision))
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// isWrongSequence reports that a compare and set found something else.
func isWrongSequence(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// codeStoreFailed is the broker's code for a message that a full stream, or a
// full subject, refuses; only the description tells them apart.
const codeStoreFailed = 10077

func isRefused(err error) (subject, refused bool) {
	var api *jetstream.APIError
	if !errors.As(err, &api) || api.ErrorCode != codeStoreFailed {
		return false, false
	}
	return api.Description == "maximum messages per subject exceeded", true
}

func digestOf(body []byte) [32]byte { return sha256.Sum256(body) }

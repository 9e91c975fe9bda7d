package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// Request is a job to submit.
type Request struct {
	// ID makes the submission idempotent: the same request under the same id
	// is one job, whoever repeats it. Empty: a random one.
	ID string
	// Circuit is name@sha256, or a registered name, resolved at submission.
	Circuit   string
	Priority  Priority // default Normal
	Witnesses []Source
	Deadline  time.Time
	Reply     string // see [Client.NewInbox]
	Meta      map[string]string
	// Public is the circuit's number of public signals, to refuse a job
	// whose result can't fit; 0: as registered, or unknown.
	Public int
	// Uploading, when set, is told how many of the bytes to upload are
	// stored. It isn't called concurrently, not even for several requests of
	// one client: that uploads one job's witnesses after the other's.
	Uploading func(done, total int64)
}

// Source is one witness to submit: see [Wtns], [WtnsAt] and [Inputs].
type Source struct {
	wtns   *io.SectionReader
	inputs []byte
}

// Wtns is a witness in memory: a whole .wtns file. The bytes must not change
// until Submit returns.
func Wtns(file []byte) Source { return WtnsAt(bytes.NewReader(file), int64(len(file))) }

// WtnsAt is a witness of size bytes in a file (a whole .wtns), which is read
// twice if it is too large to travel in the message.
func WtnsAt(r io.ReaderAt, size int64) Source { return Source{wtns: io.NewSectionReader(r, 0, size)} }

// Inputs is circom's inputs JSON, from which the worker computes the witness.
func Inputs(json []byte) Source { return Source{inputs: json} }

// Submission says what became of a submitted job.
type Submission struct {
	ID      string
	Circuit string   // name@sha256
	Job     [32]byte // sha256 of the job's body
	// Duplicate: the job was queued, running or finished already.
	Duplicate bool
}

// Submit queues a job. It may be repeated, by anybody, with the same request
// under the same id, also after an error: uploads go on where they were, and
// a job that is queued, running or finished is left alone.
//
// Errors: ErrIDConflict, ErrQueueFull, ErrTooLarge, ErrUnknownCircuit, and
// [*MalformedError] for what breaks another limit.
func (c *Client) Submit(ctx context.Context, r Request) (*Submission, error) {
	if r.ID == "" {
		r.ID = nuid.Next()
	}
	if r.Priority == "" {
		r.Priority = Normal
	}
	job, uploads, err := c.build(ctx, &r)
	if err != nil {
		return nil, err
	}
	ctx, span := c.startSend(ctx, job.ID, r.Priority)
	defer span.End()
	s, err := c.submit(ctx, job, r.Priority, func() error { return c.upload(ctx, job, &r, uploads) })
	recordError(span, err)
	return s, err
}

// build makes the job of a request: which circuit it means, and which of its
// witnesses go inline.
func (c *Client) build(ctx context.Context, r *Request) (*Job, []int, error) {
	if !r.Priority.Valid() {
		return nil, nil, &MalformedError{"job", "priority", fmt.Sprintf("%.20q", r.Priority), "high, normal or low"}
	}
	if err := c.resolve(ctx, r); err != nil {
		return nil, nil, err
	}
	job := &Job{
		ID: r.ID, Circuit: r.Circuit, Deadline: r.Deadline, Reply: r.Reply, Meta: r.Meta,
		Witnesses: make([]Witness, len(r.Witnesses)),
	}
	uploads, err := c.place(job, r.Witnesses)
	if err != nil {
		return nil, nil, err
	}
	if err := job.Validate(); err != nil {
		return nil, nil, err
	}
	if n := resultSize(len(r.Witnesses), r.Public); n > MaxResultBytes {
		return nil, nil, fmt.Errorf("%w: a result of %d proofs with %d public signals has up to %d bytes, the limit is %d",
			ErrTooLarge, len(r.Witnesses), r.Public, n, MaxResultBytes)
	}
	return job, uploads, nil
}

// resolve makes name@sha256 of a circuit's bare name.
func (c *Client) resolve(ctx context.Context, r *Request) error {
	if !ValidToken(r.Circuit) {
		return nil // the job's validation says what is wrong, if something is
	}
	record, err := c.Circuit(ctx, r.Circuit)
	if err != nil {
		return err
	}
	r.Circuit = record.Ref()
	set(&r.Public, record.Public)
	return nil
}

// place decides, first come first inline, which witnesses travel in the
// message, reads those, and returns which are to be uploaded. Inputs have no
// other place.
func (c *Client) place(job *Job, sources []Source) (uploads []int, err error) {
	room := c.inlineRoom(job)
	for i, s := range sources {
		if s.wtns == nil {
			job.Witnesses[i].Inputs = s.inputs
			room -= int64(len(s.inputs))
		}
	}
	if room < 0 {
		return nil, fmt.Errorf("%w: the inputs exceed the message by %d bytes", ErrTooLarge, -room)
	}
	if limit := int64(c.cfg.InlineLimit); limit > 0 {
		room = min(room, limit)
	}
	for i, s := range sources {
		switch {
		case s.wtns == nil:
		case s.wtns.Size() <= room:
			room -= s.wtns.Size()
			job.Witnesses[i].Wtns, err = io.ReadAll(sectionFromStart(s.wtns))
		default:
			uploads = append(uploads, i)
			job.Witnesses[i].Object, err = reference(job.ID, i, s.wtns)
		}
		if err != nil {
			return nil, fmt.Errorf("queue: read witness %d: %w", i, err)
		}
	}
	return uploads, nil
}

// inlineRoom is how many bytes of witnesses the job's message can hold.
func (c *Client) inlineRoom(job *Job) int64 {
	const headers, each = 4096, 400 // bytes for headers; for an object's reference
	bare := EncodeJob(&Job{ID: job.ID, Circuit: job.Circuit, Reply: job.Reply, Meta: job.Meta})
	return min(MaxJobBytes, c.nc.MaxPayload()) - headers - int64(len(bare)) - each*int64(len(job.Witnesses))
}

// sectionFromStart reads a source without moving a cursor that others share.
func sectionFromStart(s *io.SectionReader) *io.SectionReader {
	return io.NewSectionReader(s, 0, s.Size())
}

func reference(id string, i int, s *io.SectionReader) (*Object, error) {
	h := sha256.New()
	if _, err := io.Copy(h, sectionFromStart(s)); err != nil {
		return nil, err
	}
	sum := [32]byte(h.Sum(nil))
	return &Object{Name: ObjectName(id, i, sum), Len: s.Size(), SHA256: sum}, nil
}

// submit queues a job whose witnesses upload stores where they are to lie.
func (c *Client) submit(ctx context.Context, job *Job, p Priority, upload func() error) (*Submission, error) {
	name, _, err := ParseCircuit(job.Circuit)
	if err != nil {
		return nil, err
	}
	body := EncodeJob(job)
	s := &Submission{ID: job.ID, Circuit: job.Circuit, Job: digestOf(body)}
	subject := JobSubject(p, name, job.ID)
	if _, _, err := c.register(ctx, job.ID, subject, s.Job); err != nil {
		return nil, err
	}
	switch stored, _, err := c.storedResult(ctx, job.ID); {
	case err == nil && stored.Job != s.Job:
		return nil, fmt.Errorf("%w: %s has a result already", ErrIDConflict, job.ID)
	case err == nil:
		s.Duplicate = true
		return s, nil
	case !errors.Is(err, ErrNoResult):
		return nil, err
	}
	if err := upload(); err != nil {
		return nil, err
	}
	s.Duplicate, err = c.publish(ctx, subject, job.ID, body)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// upload stores the witnesses that are not inline, those that are there
// already excepted: names are content addresses.
func (c *Client) upload(ctx context.Context, job *Job, r *Request, uploads []int) error {
	if len(uploads) == 0 {
		return nil
	}
	release, err := c.uploading(ctx)
	if err != nil {
		return err
	}
	defer release()
	var done, total int64
	for _, i := range uploads {
		total += job.Witnesses[i].Object.Len
	}
	report := func(n int64) {
		if r.Uploading != nil {
			r.Uploading(n, total)
		}
	}
	for _, i := range uploads {
		o := job.Witnesses[i].Object
		there, err := c.witness.has(ctx, o.Name, o.Len)
		if err != nil {
			return err
		}
		if !there {
			err = patiently(ctx, func(context.Context) error { // each chunk has its own time
				return c.witness.put(ctx, o.Name, o.SHA256, sectionFromStart(r.Witnesses[i].wtns), func(n int64) { report(done + n) })
			})
			if err != nil {
				return err
			}
		}
		done += o.Len
		report(done)
	}
	return nil
}

// uploading waits until no other upload of this client is under way: together
// they would exceed what the broker buffers.
func (c *Client) uploading(ctx context.Context) (release func(), err error) {
	select {
	case c.uploads <- struct{}{}:
		return func() { <-c.uploads }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// publish queues the job's message. A copy of it that is there already, in
// the stream's duplicate window or in the stream, is no error.
func (c *Client) publish(ctx context.Context, subject, id string, body []byte) (duplicate bool, err error) {
	msg := nats.NewMsg(subject)
	msg.Header.Set("Content-Type", ContentJob)
	inject(ctx, msg.Header)
	msg.Data = body
	ack, err := publish(ctx, c.js, msg, jetstream.WithMsgID(id), jetstream.WithExpectStream(StreamJobs))
	if err == nil {
		return ack.Duplicate, nil
	}
	onSubject, refused := isRefused(err)
	switch {
	case onSubject:
		return true, nil
	case refused:
		return false, fmt.Errorf("%w: %w", ErrQueueFull, err)
	case errors.Is(err, nats.ErrMaxPayload), errors.Is(err, jetstream.ErrStreamMessageExceedsMaximum):
		return false, fmt.Errorf("%w: job of %d bytes: %w", ErrTooLarge, len(body), err)
	}
	return false, fmt.Errorf("queue: submit %s: %w", id, err)
}

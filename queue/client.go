package queue

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/nats-io/nats.go"
)

// Client is a producer's side of the queue. It is safe for concurrent use.
type Client struct {
	nc *nats.Conn
}

// ClientConfig is what a [Client] may be told.
type ClientConfig struct {
	// InlineLimit bounds the bytes of witnesses that travel inside a job's
	// message; larger ones are uploaded. Default and maximum: what the
	// message limit leaves.
	InlineLimit int
}

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
	// stored. It isn't called concurrently.
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

// NewClient binds to what [Provision] made; ErrNotProvisioned if it isn't
// there. The connection stays the caller's.
func NewClient(ctx context.Context, nc *nats.Conn, cfg ClientConfig) (*Client, error) {
	return nil, errors.ErrUnsupported
}

// Submit queues a job. Errors: ErrIDConflict, ErrQueueFull, ErrTooLarge,
// ErrUnknownCircuit.
func (c *Client) Submit(ctx context.Context, r Request) (*Submission, error) {
	return nil, errors.ErrUnsupported
}

// Wait returns the job's result once there is one, also when it was there
// long before. It needn't be the client that submitted the job.
func (c *Client) Wait(ctx context.Context, id string) (*Result, error) {
	return nil, errors.ErrUnsupported
}

// Result returns the stored result, or ErrNoResult.
func (c *Client) Result(ctx context.Context, id string) (*Result, error) {
	return nil, errors.ErrUnsupported
}

// Status returns the job's record, or ErrUnknownJob.
func (c *Client) Status(ctx context.Context, id string) (*Status, error) {
	return nil, errors.ErrUnsupported
}

// Cancel asks for the end of a job: a queued one ends when a worker comes to
// it, a running one when its worker hears of it. Its result tells which came
// first, the end or the proof. ErrUnknownJob if there is no such job.
func (c *Client) Cancel(ctx context.Context, id string) error {
	return errors.ErrUnsupported
}

// OnProgress calls f, from one goroutine, for each progress event of the job
// until stop is called.
func (c *Client) OnProgress(id string, f func(Progress)) (stop func(), err error) {
	return nil, errors.ErrUnsupported
}

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
func (c *Client) NewInbox() (*Inbox, error) { return nil, errors.ErrUnsupported }

// Subject is what goes into [Request].Reply.
func (i *Inbox) Subject() string { return i.sub.Subject }

// Next waits for the next reply; messages that are no replies are left out.
func (i *Inbox) Next(ctx context.Context) (*Reply, error) { return nil, errors.ErrUnsupported }

// Close ends the subscription.
func (i *Inbox) Close() error { return i.sub.Unsubscribe() }

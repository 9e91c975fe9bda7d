package queue

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"
)

func TestJobFromSubmissionToResult(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	spans := NewSpanCollector()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	tracer := tp.Tracer("test")
	nc := b.connect()
	c, err := NewClient(ctx(t), nc, ClientConfig{InlineLimit: 1 << 10, Tracer: tracer})
	if err != nil {
		t.Fatal(err)
	}
	small, large := []byte("a small witness"), bytes.Repeat([]byte("a large witness "), 100_000)
	inputs := []byte(`{"x": 1}`)
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		_, span := tracer.Start(ctx, "synthesis")
		defer span.End()
		d.Progress(PhaseWitness, 0)
		o := &Outcome{Device: "test device", Timings: Timings{Device: 1500 * time.Microsecond}}
		for i, want := range [][]byte{small, large} {
			r, err := d.Open(ctx, i)
			if err != nil {
				return nil, err
			}
			got, err := io.ReadAll(r)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("witness %d: %d bytes, error %v; want %d bytes", i, len(got), err, len(want))
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		if !bytes.Equal(d.Job.Witnesses[2].Inputs, inputs) {
			t.Errorf("inputs %q", d.Job.Witnesses[2].Inputs)
		}
		if _, err := d.Open(ctx, 2); err == nil || err.Error() != "queue: proof 2 of job end-to-end has no witness to open" {
			t.Errorf("opening inputs: %v", err)
		}
		if d.Attempt != 1 || d.Priority != High || d.Job.Meta["customer"] != "42" {
			t.Errorf("delivery %+v", d)
		}
		for i := range 3 {
			o.Proofs = append(o.Proofs, Proof{Proof: bytes.Repeat([]byte{byte(i + 1)}, 128), Public: make([]byte, 32*i)})
		}
		return o, nil
	}, func(cfg *WorkerConfig) { cfg.Spans, cfg.Tracer, cfg.Name = spans, tracer, "w1" })

	in, err := c.NewInbox()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var uploaded, total int64
	s := b.submit(c, Request{
		ID: "end-to-end", Circuit: "merkle@" + digestHex, Priority: High, Reply: in.Subject(),
		Witnesses: []Source{Wtns(small), Wtns(large), Inputs(inputs)},
		Meta:      map[string]string{"customer": "42"}, Deadline: time.Now().Add(time.Hour),
		Uploading: func(done, all int64) { uploaded, total = done, all },
	})
	if s.Duplicate || uploaded != int64(len(large)) || total != uploaded {
		t.Errorf("submission %+v, uploaded %d of %d", s, uploaded, total)
	}
	r := b.await(c, s.ID, Done)
	if r.Circuit != digestHex || r.Job != s.Job || r.Attempt != 1 || r.Worker != "w1" || r.Device != "test device" {
		t.Errorf("result %+v", r)
	}
	for i, p := range r.Proofs {
		if !bytes.Equal(p.Proof, bytes.Repeat([]byte{byte(i + 1)}, 128)) || len(p.Public) != 32*i {
			t.Errorf("proof %d: %x %x", i, p.Proof, p.Public)
		}
	}
	if r.Timings.Device != 1500*time.Microsecond || r.Timings.Fetch == 0 || r.Timings.Total == 0 {
		t.Errorf("timings %+v", r.Timings)
	}

	if p := next(t, in, KindProgress, KindResult); p.Kind != KindProgress || p.Progress.Phase != PhaseWitness || p.Final || p.Job != s.ID {
		t.Errorf("first reply %+v", p)
	}
	if p := next(t, in, KindResult); !p.Final || p.Attempt != 1 || p.Result.ID != s.ID || len(p.Result.Proofs) != 3 {
		t.Errorf("result on the reply subject %+v", p)
	}
	checkSpans(t, next(t, in, KindSpans), r.Trace)

	b.awaitEmpty(c.js)
	ref, err := reference(s.ID, 1, WtnsAt(bytes.NewReader(large), int64(len(large))).wtns)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := c.witness.has(ctx(t), ref.Name, ref.Len); there || err != nil {
		t.Errorf("uploaded witness is still there: %v, %v", there, err)
	}
	if st, err := c.Status(ctx(t), s.ID); err != nil || st.State != Done || st.Attempts != 1 {
		t.Errorf("record %+v, %v", st, err)
	}
}

func checkSpans(t *testing.T, reply *Reply, trace string) {
	t.Helper()
	var req collectorpb.ExportTraceServiceRequest
	if err := proto.Unmarshal(reply.Spans, &req); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, rs := range req.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				names = append(names, s.Name)
				if got := fmt.Sprintf("%x", s.TraceId); got != trace {
					t.Errorf("span %s of trace %s, want %s", s.Name, got, trace)
				}
			}
		}
	}
	slices.Sort(names)
	if want := []string{"process pinion.job.high", "synthesis"}; !slices.Equal(names, want) {
		t.Errorf("spans %q, want %q", names, want)
	}
}

func TestQ15TraceContextInAnyCase(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	tp := sdktrace.NewTracerProvider()
	b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Tracer = tp.Tracer("test") })
	c := b.client()
	const trace = "0af7651916cd43dd8448eb211c80319c"
	for i, header := range []string{"Traceparent", "traceparent", "TRACEPARENT"} {
		id := fmt.Sprint("case-", i)
		b.publishJob(c, Normal, "merkle", id, encoded(id), nats.Header{header: {"00-" + trace + "-b7ad6b7169203331-01"}})
		if r := b.await(c, id, Done); r.Trace != trace {
			t.Errorf("%s: trace %s, want %s", header, r.Trace, trace)
		}
	}
	h := nats.Header{}
	ctx, span := tp.Tracer("test").Start(t.Context(), "send")
	defer span.End()
	inject(ctx, h)
	if len(h["traceparent"]) != 1 || len(h) != 1 {
		t.Errorf("written as %v, want one header in lower case", h)
	}
}

// encoded is the body of a small job.
func encoded(id string) []byte {
	return EncodeJob(&Job{ID: id, Circuit: "merkle@" + digestHex, Witnesses: []Witness{{Wtns: []byte("w")}}})
}

// publishJob queues bytes as a producer in another language would.
func (b *broker) publishJob(c *Client, p Priority, circuit, id string, body []byte, h nats.Header) {
	b.t.Helper()
	msg := &nats.Msg{Subject: JobSubject(p, circuit, id), Header: h, Data: body}
	if _, err := c.js.PublishMsg(ctx(b.t), msg); err != nil {
		b.t.Fatal(err)
	}
}

func TestQ12FirstStoredResultWins(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	started, finish := make(chan struct{}), make(chan struct{})
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		close(started)
		<-finish
		return proves(ctx, d)
	})
	in, err := c.NewInbox()
	if err != nil {
		t.Fatal(err)
	}
	r := request("race")
	r.Reply = in.Subject()
	s := b.submit(c, r)
	<-started
	first := EncodeResult(&Result{ID: s.ID, Job: s.Job, State: Done, Worker: "other", Attempt: 1, Proofs: []Proof{{Proof: []byte("the first")}}})
	if _, err := c.js.Publish(ctx(t), ResultSubject(s.ID), first); err != nil {
		t.Fatal(err)
	}
	close(finish)
	if got := next(t, in, KindResult).Result; got.Worker != "other" || string(got.Proofs[0].Proof) != "the first" {
		t.Errorf("replied %+v, want the stored result", got)
	}
	b.awaitEmpty(c.js)
	if got := b.await(c, s.ID, Done); got.Worker != "other" {
		t.Errorf("stored %+v, want the first", got)
	}
	if n := w.Stats().Done; n != 0 {
		t.Errorf("the worker counts %d results as its own", n)
	}
}

func TestQ09ResultStoredButNotAcked(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	in, err := c.NewInbox()
	if err != nil {
		t.Fatal(err)
	}
	r := request("crashed")
	r.Reply = in.Subject()
	s := b.submit(c, r)
	stored := EncodeResult(&Result{ID: s.ID, Job: s.Job, State: Done, Worker: "dead", Attempt: 1, Proofs: []Proof{{Proof: []byte("p")}}})
	if _, err := c.js.Publish(ctx(t), ResultSubject(s.ID), stored); err != nil {
		t.Fatal(err)
	}
	b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		t.Error("proven again")
		return nil, errors.New("not to be called")
	})
	if got := next(t, in, KindResult); got.Result.Worker != "dead" || !got.Final {
		t.Errorf("replied %+v", got)
	}
	b.awaitEmpty(c.js)
	if !b.submit(c, r).Duplicate {
		t.Error("submitted again after its end: not seen as a duplicate")
	}
}

func TestUndecodableJob(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(proves)
	in, err := c.NewInbox()
	if err != nil {
		t.Fatal(err)
	}
	other := encoded("other")
	for _, tt := range []struct {
		id, circuit, msg string
		code             Code
		body             []byte
		replies          bool
	}{
		{"garbage", "merkle", "queue: malformed job: found the byte 0xc1, which begins no value, expected one msgpack map", CodeInvalidJob, []byte{0xc1}, true},
		{"not-other", "merkle", `id: found "other", expected "not-other" as in the subject`, CodeInvalidJob, other, true},
		{"other", "sha", `circuit: found "merkle", expected "sha" as in the subject`, CodeInvalidJob, other, true},
		{"deputy", "merkle", `reply subject "$JS.API.STREAM.DELETE.PINION_JOBS": expected one that begins with _INBOX. or _INBOX_ or pinion.reply.`, CodeInvalidReply,
			EncodeJob(&Job{ID: "deputy", Circuit: "merkle@" + digestHex, Reply: "$JS.API.STREAM.DELETE.PINION_JOBS", Witnesses: []Witness{{Wtns: []byte("w")}}}), false},
	} {
		b.publishJob(c, Low, tt.circuit, tt.id, tt.body, nats.Header{HeaderReplyTo: {in.Subject()}, "X-Own": {"kept"}, "Nats-Msg-Id": {"own-" + tt.id}})
		r := b.await(c, tt.id, Failed)
		if r.Err.Code != tt.code || r.Err.Msg != tt.msg || r.Err.Retry || r.Attempt != 0 {
			t.Errorf("%s: error %+v, want %s: %s", tt.id, r.Err, tt.code, tt.msg)
		}
		letters := b.deadLetters(c.js, tt.id)
		if len(letters) != 1 {
			t.Fatalf("%s: %d dead letters", tt.id, len(letters))
		}
		l := letters[0]
		if !bytes.Equal(l.Data, tt.body) {
			t.Errorf("%s: dead letter holds %x", tt.id, l.Data)
		}
		for header, want := range map[string]string{
			"X-Own": "kept", "Pinion-Origin-Nats-Msg-Id": "own-" + tt.id, HeaderSubject: JobSubject(Low, tt.circuit, tt.id),
			HeaderCode: string(tt.code), HeaderError: tt.msg, HeaderAttempt: "0", HeaderReplyTo: in.Subject(),
		} {
			if got := l.Header.Get(header); got != want {
				t.Errorf("%s: dead letter's %s is %q, want %q", tt.id, header, got, want)
			}
		}
		if !tt.replies {
			continue
		}
		if got := next(t, in, KindError, KindResult); got.Kind != KindError || got.Job != tt.id || got.Result.Err.Code != tt.code {
			t.Errorf("%s: replied %+v", tt.id, got)
		}
	}
	b.awaitEmpty(c.js)
	if _, err := c.js.Stream(ctx(t), StreamJobs); err != nil {
		t.Errorf("the worker was a confused deputy: %v", err)
	}
	if msgs, _, _ := in.sub.Pending(); msgs != 0 {
		t.Errorf("%d more replies", msgs)
	}
}

func TestMessageWhoseSubjectNamesNoJob(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(proves)
	const subject = "pinion.job.high.merkle.a*b"
	if _, err := c.js.Publish(ctx(t), subject, []byte("x")); err != nil {
		t.Fatal(err)
	}
	b.awaitEmpty(c.js)
	letters := b.deadLetters(c.js, "invalid-"+fmt.Sprintf("%x", digestOf([]byte("x")))[:16])
	if len(letters) != 1 || letters[0].Header.Get(HeaderSubject) != subject {
		t.Errorf("dead letters %v", letters)
	}
}

func TestIDConflict(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.submit(c, request("taken"))
	if !b.submit(c, request("taken")).Duplicate {
		t.Error("the same again: not seen as a duplicate")
	}
	other := request("taken")
	other.Witnesses = []Source{Wtns([]byte("another witness"))}
	if _, err := c.Submit(ctx(t), other); !errors.Is(err, ErrIDConflict) {
		t.Errorf("other bytes: %v, want ErrIDConflict", err)
	}
	lane := request("taken")
	lane.Priority = High
	if _, err := c.Submit(ctx(t), lane); !errors.Is(err, ErrIDConflict) {
		t.Errorf("another lane: %v, want ErrIDConflict", err)
	}
	// A producer that doesn't ask first; the high lane comes before the job.
	in, err := c.NewInbox()
	if err != nil {
		t.Fatal(err)
	}
	body := []byte("not even a job")
	b.publishJob(c, High, "merkle", "taken", body, nats.Header{HeaderReplyTo: {in.Subject()}})
	b.startWorker(proves)
	if r := next(t, in, KindError).Result; r.Err.Code != CodeIDConflict || r.Err.Msg != "id taken belongs to another job" {
		t.Errorf("replied %+v", r)
	}
	b.await(c, "taken", Done)
	b.awaitEmpty(c.js)
	if l := b.deadLetters(c.js, "taken"); len(l) != 1 || !bytes.Equal(l[0].Data, body) || l[0].Header.Get(HeaderCode) != "id_conflict" {
		t.Errorf("dead letters %v", l)
	}
	// The result alone, once the record has gone, still tells.
	deleteRecord(t, c, "taken")
	if _, err := c.Submit(ctx(t), other); !errors.Is(err, ErrIDConflict) {
		t.Errorf("other bytes after the end: %v, want ErrIDConflict", err)
	}
}

func TestExpiredJobs(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	late := request("late")
	late.Deadline = time.Now().Add(-time.Second)
	b.submit(c, late)
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Job.ID == "late" {
			t.Error("begun after its deadline")
		}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrExpired) {
			t.Errorf("cause %v, want ErrExpired", cause)
		}
		return nil, ctx.Err()
	})
	if r := b.await(c, "late", Expired); r.Err.Code != CodeDeadline || r.Attempt != 0 {
		t.Errorf("result %+v", r)
	}
	slow := request("slow")
	slow.Deadline = time.Now().Add(500 * time.Millisecond)
	b.submit(c, slow)
	if r := b.await(c, "slow", Expired); r.Err.Code != CodeDeadline {
		t.Errorf("result %+v", r)
	}
	b.awaitEmpty(c.js)
	if l := b.deadLetters(c.js, "slow"); len(l) != 0 {
		t.Errorf("an expired job has %d dead letters", len(l))
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	if err := c.Cancel(ctx(t), "nobody"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("unknown job: %v", err)
	}
	b.submit(c, request("queued"))
	if err := c.Cancel(t.Context(), "queued"); err != nil { // a context without deadline will do
		t.Fatal(err)
	}
	started := make(chan struct{})
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Job.ID == "queued" {
			t.Error("a cancelled job was begun")
		}
		close(started)
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrCancelled) {
			t.Errorf("cause %v, want ErrCancelled", cause)
		}
		return nil, ctx.Err()
	})
	if r := b.await(c, "queued", Cancelled); r.Err.Code != CodeCancelled || r.Attempt != 0 {
		t.Errorf("result %+v", r)
	}
	b.submit(c, request("running"))
	<-started
	if err := c.Cancel(ctx(t), "running"); err != nil {
		t.Fatal(err)
	}
	if r := b.await(c, "running", Cancelled); r.Attempt != 1 {
		t.Errorf("result %+v", r)
	}
	b.awaitEmpty(c.js)
}

// A job's record is read once, before its work begins, unless others change it.
func TestRecordIsReadOnce(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	reads, err := c.nc.SubscribeSync("$JS.API.DIRECT.GET.KV_" + BucketState + ".$KV." + BucketState + "." + jobKey("quick"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	begun := make(chan struct{})
	release := make(chan struct{})
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		close(begun)
		<-release
		return proves(ctx, d)
	})
	b.submit(c, request("quick"))
	<-begun
	check := func() {
		t.Helper()
		if err := c.nc.Flush(); err != nil { // what the broker has sent by now is here
			t.Fatal(err)
		}
		if n, _, err := reads.Pending(); n != 1 || err != nil {
			t.Errorf("read %d times (%v), want once", n, err)
		}
	}
	check()
	close(release)
	b.awaitEmpty(c.js)
	check()
	if st, err := c.Status(ctx(t), "quick"); err != nil || st.State != Done || st.Attempts != 1 || len(st.History) != 1 {
		t.Errorf("record %+v, %v", st, err)
	}
}

// The lease of a job that is done is free at once, not when it would have run
// out.
func TestLeaseIsGivenBack(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	lease, err := c.nc.SubscribeSync(stateSubject(leaseKey("short")))
	if err != nil {
		t.Fatal(err)
	}
	b.startWorker(proves)
	b.submit(c, request("short"))
	for given := false; !given; {
		msg, err := lease.NextMsgWithContext(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		given = msg.Header.Get("KV-Operation") == "PURGE"
	}
	if _, err := c.claim(ctx(t), "short", "other", time.Minute); err != nil {
		t.Error(err)
	}
}

// What changed between the reading of a record and the claim of its lease is
// seen all the same.
func TestUpdateFromAStaleRecord(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.submit(c, request("stale"))
	st, revision, err := c.status(ctx(t), "stale")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(ctx(t), "stale"); err != nil {
		t.Fatal(err)
	}
	begin := func(st *Status) error {
		if st.Cancelled {
			return ErrCancelled
		}
		st.begin("w", "", time.Now())
		return nil
	}
	if st, _, err := c.updateFrom(ctx(t), "stale", st, revision, begin); !errors.Is(err, ErrCancelled) || st.Attempts != 0 {
		t.Errorf("%v, %d attempts; want ErrCancelled and none", err, st.Attempts)
	}
	// And what has been put right since is no reason to give up.
	st.Cancelled = true
	if _, err := c.update(ctx(t), "stale", func(st *Status) error { st.Cancelled = false; return nil }); err != nil {
		t.Fatal(err)
	}
	if st, _, err := c.updateFrom(ctx(t), "stale", st, revision, begin); err != nil || st.Attempts != 1 {
		t.Errorf("%v, %d attempts; want one", err, st.Attempts)
	}
}

func TestRetriesEndInADeadLetter(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var attempts atomic.Int64
	b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		n := attempts.Add(1)
		return nil, &Failure{Code: "device_fault", Msg: fmt.Sprint("fault ", n), Retry: true}
	})
	b.submit(c, request("faulty"))
	if r := b.await(c, "faulty", Failed); r.Err.Code != "device_fault" || r.Err.Msg != "fault 3" || r.Attempt != 3 {
		t.Errorf("result %+v", r.Err)
	}
	b.awaitEmpty(c.js)
	if n := attempts.Load(); n != MaxAttempts {
		t.Errorf("%d attempts", n)
	}
	l := b.deadLetters(c.js, "faulty")
	if len(l) != 1 {
		t.Fatalf("%d dead letters", len(l))
	}
	for _, want := range []string{`"error":"device_fault: fault 1"`, `"error":"device_fault: fault 2"`, `"error":"device_fault: fault 3"`} {
		if h := l[0].Header.Get(HeaderHistory); !strings.Contains(h, want) {
			t.Errorf("history %s: no %s", h, want)
		}
	}
}

func TestRetrySucceeds(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		switch d.Attempt {
		case 1:
			return nil, errors.New("the object store is away")
		case 2:
			panic("a bug")
		}
		return proves(ctx, d)
	})
	b.submit(c, request("bumpy"))
	if r := b.await(c, "bumpy", Done); r.Attempt != 3 {
		t.Errorf("attempt %d, want 3", r.Attempt)
	}
	b.awaitEmpty(c.js)
}

func TestFailureWithoutRetry(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		return nil, fmt.Errorf("engine: %w", &Failure{Code: "invalid_witness", Msg: "constraint 7 isn't satisfied"})
	})
	s, err := NewClient(ctx(t), b.connect(), ClientConfig{InlineLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := request("bad")
	b.submit(s, r)
	if r := b.await(c, "bad", Failed); r.Err.Error() != "invalid_witness: constraint 7 isn't satisfied" || r.Attempt != 1 {
		t.Errorf("result %+v", r)
	}
	b.awaitEmpty(c.js)
	ref, err := reference("bad", 0, r.Witnesses[0].wtns)
	if err != nil {
		t.Fatal(err)
	}
	if there, err := c.witness.has(ctx(t), ref.Name, ref.Len); !there || err != nil {
		t.Errorf("a failed job's witness stays with its dead letter: %v, %v", there, err)
	}
}

func TestDeferralsBurnNoAttempt(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var calls atomic.Int64
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Attempt != 1 {
			t.Errorf("attempt %d", d.Attempt)
		}
		if calls.Add(1) <= 4 || d.Job.ID == "huge" {
			return nil, &Defer{After: time.Millisecond, Reason: "needs 80 GiB, this worker has 8 GiB"}
		}
		return proves(ctx, d)
	}, func(cfg *WorkerConfig) { cfg.MaxDeferrals = 4 })
	b.submit(c, request("patient"))
	if r := b.await(c, "patient", Done); r.Attempt != 1 {
		t.Errorf("attempt %d", r.Attempt)
	}
	b.submit(c, request("huge"))
	r := b.await(c, "huge", Failed)
	if want := "deferrals: handed on 4 times: needs 80 GiB, this worker has 8 GiB"; r.Err.Error() != want {
		t.Errorf("error %q, want %q", r.Err, want)
	}
	b.awaitEmpty(c.js)
}

func TestExpiryTellsWhyNobodyTookTheJob(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		return nil, &Defer{After: time.Millisecond, Reason: "circuit c: not here"}
	})
	r := request("nowhere")
	r.Deadline = time.Now().Add(500 * time.Millisecond)
	b.submit(c, r)
	got := b.await(c, "nowhere", Expired)
	if got.Err.Code != CodeDeadline || !strings.Contains(got.Err.Msg, " passed; handed on ") || !strings.HasSuffix(got.Err.Msg, " times: circuit c: not here") {
		t.Errorf("error %q", got.Err)
	}
}

func TestLeaseLostInTheMiddle(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	started, lost := make(chan struct{}, 2), make(chan error, 2)
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Attempt == 2 {
			return proves(ctx, d)
		}
		started <- struct{}{}
		<-ctx.Done()
		lost <- context.Cause(ctx)
		return proves(context.WithoutCancel(ctx), d) // too late, and ignored
	})
	s := b.submit(c, request("stolen"))
	<-started
	b.steal(c, s.ID)
	if err := <-lost; !errors.Is(err, ErrLeaseLost) {
		t.Errorf("cause %v, want ErrLeaseLost", err)
	}
	if _, err := c.Result(ctx(t), s.ID); !errors.Is(err, ErrNoResult) {
		t.Errorf("a result without the lease: %v", err)
	}
	if r := b.await(c, s.ID, Done); r.Attempt != 2 {
		t.Errorf("attempt %d, want 2: after the thief's lease has run out", r.Attempt)
	}
	b.awaitEmpty(c.js)
	if n := w.Stats().LeaseLost; n != 1 {
		t.Errorf("%d leases lost, want 1", n)
	}
}

func TestQ14SickDeviceLosesTheLease(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var sick atomic.Bool
	hung := make(chan struct{})
	release := make(chan struct{})
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		d.Progress(PhaseDevice, 0)
		close(hung)
		<-release // a device call that doesn't return
		return nil, ctx.Err()
	}, func(cfg *WorkerConfig) {
		cfg.Healthy = func() error {
			if sick.Load() {
				return errors.New("device hangs")
			}
			return nil
		}
	})
	defer close(release)
	b.submit(c, request("hung"))
	<-hung
	sick.Store(true)
	if err := w.Ready(); err == nil || err.Error() != "device hangs" {
		t.Errorf("ready: %v", err)
	}
	b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Name = "healthy" })
	if r := b.await(c, "hung", Done); r.Worker != "healthy" || r.Attempt != 2 {
		t.Errorf("result %+v", r)
	}
}

func TestQ01WorkersDieAtEachAttempt(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	s := b.submit(c, request("killer"))
	for range MaxAttempts {
		nc := b.connect()
		started := make(chan struct{})
		w := b.startWorkerOn(nc, func(ctx context.Context, d *Delivery) (*Outcome, error) {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		}, func(cfg *WorkerConfig) { cfg.Grace = time.Millisecond })
		<-started
		nc.Close() // as far as the broker can tell, the process was killed
		if err := w.stop(); !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("Run: %v, want ErrConnectionClosed", err)
		}
	}
	b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		t.Error("a fourth attempt")
		return nil, errors.New("not to be called")
	})
	r := b.await(c, s.ID, Failed)
	if r.Err.Code != CodeAttempts || !strings.HasPrefix(r.Err.Msg, "3 attempts: attempt 1 on ") {
		t.Errorf("error %v", r.Err)
	}
	b.awaitEmpty(c.js)
	if l := b.deadLetters(c.js, s.ID); len(l) != 1 || digestOf(l[0].Data) != s.Job || l[0].Header.Get("Pinion-Origin-Nats-Msg-Id") != s.ID {
		t.Errorf("dead letters %v, want one with the whole job", l)
	}
	l, err := c.DeadLetter(ctx(t), s.ID)
	if err != nil {
		t.Fatal(err)
	}
	if l.Code != CodeAttempts || l.Error != r.Err.Msg || len(l.History) != MaxAttempts || l.History[2].Attempt != 3 || l.History[2].Worker == "" {
		t.Errorf("dead letter %+v", l)
	}
}

func TestQ03BrokerRestartsWithIdleWorkers(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(proves)
	b.startWorker(proves)
	for i := range 3 {
		b.restart(c.nc)
		s := b.submit(c, request(fmt.Sprint("after-restart-", i)))
		b.await(c, s.ID, Done)
	}
	b.awaitEmpty(c.js)
}

func TestQ08BrokerAwayInTheMiddleOfAJob(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	started, lost := make(chan struct{}, 1), make(chan error, 1)
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Attempt > 1 {
			return proves(ctx, d)
		}
		started <- struct{}{}
		<-ctx.Done()
		lost <- context.Cause(ctx)
		return proves(context.WithoutCancel(ctx), d)
	})
	s := b.submit(c, request("outage"))
	<-started
	b.stop()
	if err := <-lost; !errors.Is(err, ErrLeaseLost) || !strings.Contains(err.Error(), "not renewed for 1s") {
		t.Errorf("cause %v", err)
	}
	b.start()
	if r := b.await(c, s.ID, Done); r.Attempt != 2 {
		t.Errorf("attempt %d, want 2", r.Attempt)
	}
	b.awaitEmpty(c.js)
}

func TestQ06JobsLongerThanTheAckWait(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var begun atomic.Int64
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		begun.Add(1)
		pause(ctx, 2*ackWait)
		return proves(ctx, d)
	}, func(cfg *WorkerConfig) { cfg.Jobs = 1 })
	for i := range 3 {
		b.submit(c, request(fmt.Sprint("long-", i)))
	}
	for i := range 3 {
		if r := b.await(c, fmt.Sprint("long-", i), Done); r.Attempt != 1 {
			t.Errorf("attempt %d", r.Attempt)
		}
	}
	b.awaitEmpty(c.js)
	if n := begun.Load(); n != 3 {
		t.Errorf("%d begun, want 3", n)
	}
}

func TestDrain(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	started := make(chan struct{}, 2)
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		started <- struct{}{}
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, ErrDrained) {
			t.Errorf("cause %v, want ErrDrained", cause)
		}
		return nil, ctx.Err()
	}, func(cfg *WorkerConfig) { cfg.Grace = 10 * time.Millisecond })
	b.submit(c, request("waiting"))
	<-started
	if err := w.stop(); err != nil {
		t.Fatal(err)
	}
	if st, err := c.Status(ctx(t), "waiting"); err != nil || st.State != Queued || st.Attempts != 0 {
		t.Errorf("record %+v, %v; want the attempt given back", st, err)
	}
	if err := w.Ready(); err == nil || err.Error() != "queue: worker isn't running" {
		t.Errorf("ready: %v", err)
	}
	b.startWorker(proves)
	if r := b.await(c, "waiting", Done); r.Attempt != 1 {
		t.Errorf("attempt %d", r.Attempt)
	}
}

func TestDrainLetsJobsFinish(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	started, finish := make(chan struct{}), make(chan struct{})
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		close(started)
		<-finish
		return proves(ctx, d)
	})
	s := b.submit(c, request("nearly"))
	<-started
	done := make(chan error)
	go func() { done <- w.stop() }()
	b.eventually("the worker has ceased to ask", func() bool { return w.Ready() != nil })
	close(finish)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := c.Result(ctx(t), s.ID); err != nil {
		t.Error(err)
	}
}

func TestQ07NoJobIsParkedByAShutdown(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var mu sync.Mutex
	begun := map[string]int{}
	h := func(ctx context.Context, d *Delivery) (*Outcome, error) {
		mu.Lock()
		begun[d.Job.ID]++
		mu.Unlock()
		return proves(ctx, d)
	}
	const jobs = 60
	first := b.startWorker(h)
	stopped := make(chan error, 1)
	for i := range jobs {
		if i == jobs/3 {
			go func() { stopped <- first.stop() }()
			b.startWorker(h)
		}
		b.submit(c, request(fmt.Sprint("shutdown-", i)))
	}
	for i := range jobs {
		b.await(c, fmt.Sprint("shutdown-", i), Done)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	b.awaitEmpty(c.js)
	for id, n := range begun {
		if n != 1 {
			t.Errorf("%s begun %d times", id, n)
		}
	}
}

func TestHighPriorityFirst(t *testing.T) {
	t.Parallel()
	lines := map[Priority]int{Low: 1, Normal: 1, High: 1}
	if order := inOrder(t, lines); !slices.Equal(order, Priorities()) {
		t.Errorf("proven in the order %s", order)
	}
}

func TestLowerLanesDontStarve(t *testing.T) {
	t.Parallel()
	round := append(slices.Repeat([]Priority{High}, laneShare), Normal, Low)
	want := append(slices.Repeat(round, 3), Normal, Low) // the last two when no others are left
	lines := map[Priority]int{Low: 4, Normal: 4, High: 3 * laneShare}
	if order := inOrder(t, lines); !slices.Equal(order, want) {
		t.Errorf("proven in the order\n%s, want\n%s", order, want)
	}
}

// inOrder queues that many jobs in each lane, lets one worker prove them one
// after the other, and returns their lanes in the order of the proofs.
func inOrder(t *testing.T, lines map[Priority]int) (order []Priority) {
	b := startBroker(t)
	c := b.client()
	var ids []string
	for p, n := range lines {
		for i := range n {
			r := request(fmt.Sprint(p, "-", i))
			r.Priority = p
			ids = append(ids, b.submit(c, r).ID)
		}
	}
	w, err := NewWorker(ctx(t), b.connect(), WorkerConfig{Log: quiet, Jobs: 1, Handler: handlerFunc(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		order = append(order, d.Priority) // one job at a time
		return proves(ctx, d)
	})})
	if err != nil {
		t.Fatal(err)
	}
	w.settle = time.Second // for slow machines; less than a pull lasts
	running, stop := context.WithCancel(ctx(t))
	done := make(chan error)
	go func() { done <- w.Run(running) }()
	for _, id := range ids {
		b.await(c, id, Done)
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	return order
}

func TestQ05ConsumerDeleted(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	w := b.startWorker(proves)
	b.eventually("ready", func() bool { return w.Ready() == nil })
	if err := c.js.DeleteConsumer(ctx(t), StreamJobs, Normal.Consumer()); err != nil {
		t.Fatal(err)
	}
	b.eventually("not ready", func() bool {
		err := w.Ready()
		return err != nil && strings.HasPrefix(err.Error(), "queue: consumer pinion-normal: ")
	})
	if _, err := Provision(ctx(t), c.js, Options{AckWait: ackWait}); err != nil {
		t.Fatal(err)
	}
	b.eventually("ready again", func() bool { return w.Ready() == nil })
	s := b.submit(c, request("afterwards"))
	b.await(c, s.ID, Done)
}

func TestIntakeIsAskedBeforeEachPull(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var taken, given atomic.Int64
	allow := make(chan struct{})
	w := b.startWorker(proves, func(cfg *WorkerConfig) {
		cfg.Intake = func(ctx context.Context) (func(), error) {
			select {
			case <-allow:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			taken.Add(1)
			return func() { given.Add(1) }, nil
		}
	})
	s := b.submit(c, request("allowed"))
	if _, err := c.Result(ctx(t), s.ID); !errors.Is(err, ErrNoResult) {
		t.Error("taken without an allowance")
	}
	close(allow)
	b.await(c, s.ID, Done)
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	if taken.Load() == 0 || taken.Load() != given.Load() {
		t.Errorf("allowance taken %d times, given back %d times", taken.Load(), given.Load())
	}
}

func TestNewWorkerErrors(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	nc := b.connect()
	if _, err := NewWorker(ctx(t), nc, WorkerConfig{}); err == nil || err.Error() != "queue: worker without a handler" {
		t.Error(err)
	}
	_, err := NewWorker(ctx(t), nc, WorkerConfig{Handler: handlerFunc(proves), Name: "a.b"})
	if err == nil || err.Error() != `queue: worker name "a.b": expected 1 to 64 of A-Z a-z 0-9 _ -` {
		t.Error(err)
	}
	if err := b.js().DeleteStream(ctx(t), StreamResults); err != nil {
		t.Fatal(err)
	}
	_, err = NewWorker(ctx(t), nc, WorkerConfig{Handler: handlerFunc(proves)})
	if !errors.Is(err, ErrNotProvisioned) || strings.Count(err.Error(), StreamResults) != 1 {
		t.Errorf("%v, want ErrNotProvisioned with the stream's name, once", err)
	}
	if name := defaultName(); !ValidToken(name) {
		t.Errorf("default name %q", name)
	}
}

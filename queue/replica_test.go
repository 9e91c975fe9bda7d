package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// On a cluster any replica answers reads, and the answer to a write may get
// lost. One broker plays both here: the test takes the place of the replica,
// or of the leader that steps down.

// intercept hands what is sent to a subject to f instead of to the broker,
// until the test ends or resume is called.
func (b *broker) intercept(subject, name string, f func(*nats.Msg)) (resume func()) {
	b.t.Helper()
	nc := b.connect()
	if _, err := nc.Subscribe(name, f); err != nil {
		b.t.Fatal(err)
	}
	if err := nc.FlushWithContext(ctx(b.t)); err != nil {
		b.t.Fatal(err)
	}
	account := b.srv.GlobalAccount()
	if err := account.AddMapping(subject, name); err != nil {
		b.t.Fatal(err)
	}
	resume = sync.OnceFunc(func() { account.RemoveMapping(subject) })
	b.t.Cleanup(resume)
	return resume
}

// directGets is where any replica of a stream is asked for a subject's last
// message.
func directGets(stream string) string { return "$JS.API.DIRECT.GET." + stream + ".>" }

// behind lets a replica answer for a stream that is always late: who asks for
// a message learns the first times what was there before it.
func (b *broker) behind(stream string, times int) {
	b.t.Helper()
	nc := b.connect()
	missed, known := map[string]int{}, map[string]*nats.Msg{}
	b.intercept(directGets(stream), "behind."+stream+".>", func(msg *nats.Msg) {
		subject := strings.TrimPrefix(msg.Subject, "behind."+stream+".")
		now, err := nc.Request(directGet(stream), fmt.Appendf(nil, `{"last_by_subj": %q}`, subject), requestTimeout)
		if err != nil {
			return // the test is over, or fails for want of an answer
		}
		before, version := known[subject], subject+" "+brokerSays(now, jetstream.SequenceHeader)
		if missed[version]++; missed[version] > times {
			known[subject], before = now, now
		}
		if before == nil {
			notFound(msg)
			return
		}
		_ = msg.RespondMsg(&nats.Msg{Header: before.Header, Data: before.Data})
	})
}

func notFound(msg *nats.Msg) {
	_ = msg.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"404"}, "Description": {"Message Not Found"}}})
}

// once hands the next message that is sent to a subject to f instead of to
// the broker.
func (b *broker) once(subject, name string, f func(*nats.Msg)) {
	b.t.Helper()
	var resume func()
	ready := make(chan struct{})
	resume = b.intercept(subject, name, func(msg *nats.Msg) {
		<-ready
		resume()
		f(msg)
	})
	close(ready)
}

// loseAnswer makes the broker store the next message on a subject, and say
// that it can't.
func (b *broker) loseAnswer(subject string) {
	b.t.Helper()
	js := b.js()
	b.once(subject, "lost."+subject, func(msg *nats.Msg) {
		if _, err := js.PublishMsg(ctx(b.t), &nats.Msg{Subject: subject, Header: msg.Header, Data: msg.Data}); err != nil {
			b.t.Error(err)
		}
		_ = msg.Respond([]byte(`{"error": {"code": 503, "err_code": 10008, "description": "JetStream system temporarily unavailable"}}`))
	})
}

// What a replica doesn't have yet is there all the same: for a producer who
// asks for what it has just stored, and for a worker.
func TestReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c, err := NewClient(ctx(t), b.connect(), ClientConfig{InlineLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, stream := range []string{stateStream, StreamResults, "OBJ_" + BucketWitness} {
		b.behind(stream, 1)
	}
	s := b.submit(c, request("a"))
	b.submit(c, request("a"))
	other := request("a")
	other.Priority = High
	if _, err := c.Submit(ctx(t), other); !errors.Is(err, ErrIDConflict) {
		t.Errorf("another job under the id: %v, want ErrIDConflict", err)
	}
	b.submit(c, request("b"))
	b.submit(c, request("c"))
	if err := c.Cancel(ctx(t), "b"); err != nil {
		t.Error(err)
	}
	b.startWorker(proves)
	if r := b.await(c, "a", Done); r.Attempt != 1 || r.Job != s.Job {
		t.Errorf("attempt %d of job %x", r.Attempt, r.Job)
	}
	b.await(c, "b", Cancelled)
	if r := b.await(c, "c", Done); r.Attempt != 1 {
		t.Errorf("attempt %d", r.Attempt)
	}
	b.awaitEmpty(c.js)
	for _, id := range []string{"a", "b"} {
		o, err := reference(id, 0, Wtns([]byte("witness of "+id)).wtns)
		if err != nil {
			t.Fatal(err)
		}
		b.eventually("the witness of "+id+" is deleted", func() bool {
			there, err := c.witness.has(ctx(t), o.Name, o.Len)
			return err == nil && !there
		})
	}
}

// Who asks for a job right after it was submitted learns of it, once the
// replica has caught up.
func TestStatusFromAReplicaThatIsBehind(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.submit(c, request("new"))
	b.once(directGets(stateStream), "once.>", notFound)
	if st, err := c.Status(ctx(t), "new"); err != nil || st.State != Queued {
		t.Errorf("status %+v, %v", st, err)
	}
	b.once(directGets(stateStream), "again.>", notFound)
	for st, err := range c.Watch(ctx(t), "new") {
		if err != nil || st.State != Queued {
			t.Errorf("watch: %+v, %v", st, err)
		}
		break
	}
}

// A job that was proven isn't proven again, though a replica doesn't know of
// its result: whoever has the lease asks the leader.
func TestResultThatAReplicaDoesNotHave(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	s := b.submit(c, request("twice"))
	lane, err := c.js.Consumer(ctx(t), StreamJobs, Normal.Consumer())
	if err != nil {
		t.Fatal(err)
	}
	msg, err := lane.Next() // by a worker that stores the result, and dies
	if err != nil {
		t.Fatal(err)
	}
	first := &Result{ID: s.ID, Job: s.Job, State: Done, Attempt: 1, Worker: "first", Proofs: []Proof{{Proof: []byte("first's")}}}
	if _, err := c.js.Publish(ctx(t), ResultSubject(s.ID), EncodeResult(first)); err != nil {
		t.Fatal(err)
	}
	if err := msg.Nak(); err != nil {
		t.Fatal(err)
	}
	b.behind(StreamResults, 2) // before the lease is taken, and after
	w := b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		t.Error("proven again")
		return nil, errors.New("no")
	})
	b.awaitEmpty(c.js)
	if r := b.await(c, s.ID, Done); r.Worker != "first" {
		t.Errorf("result of %s", r.Worker)
	}
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}

// Neither does a job fail that another worker has proven, and removed the
// witness of: whether the lease was free when this one asked, or was lost to
// it in the meantime.
func TestNoDeadLetterOfAJobThatIsDone(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	done := func(s *Submission) {
		r := &Result{ID: s.ID, Job: s.Job, State: Done, Attempt: 1, Worker: "first", Proofs: []Proof{{Proof: []byte("first's")}}}
		if _, err := c.js.Publish(ctx(t), ResultSubject(s.ID), EncodeResult(r)); err != nil {
			t.Error(err)
		}
	}
	before, meanwhile := b.submit(c, request("before")), b.submit(c, request("meanwhile"))
	l, err := c.claim(ctx(t), before.ID, "first", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	done(before)
	if err := l.release(ctx(t)); err != nil {
		t.Fatal(err)
	}
	b.behind(StreamResults, 1) // for who asks before the lease is taken
	w := b.startWorker(func(_ context.Context, d *Delivery) (*Outcome, error) {
		if d.Job.ID == before.ID {
			t.Error("proven again")
		} else {
			done(meanwhile)
		}
		return nil, &Failure{Code: CodeWitnessMissing, Msg: "deleted"}
	})
	b.awaitEmpty(c.js)
	for _, s := range []*Submission{before, meanwhile} {
		if r := b.await(c, s.ID, Done); r.Worker != "first" {
			t.Errorf("%s: result of %s", s.ID, r.Worker)
		}
		if letters := b.deadLetters(c.js, s.ID); len(letters) != 0 {
			t.Errorf("%s: %d dead letters", s.ID, len(letters))
		}
	}
	if err := w.stop(); err != nil {
		t.Error(err)
	}
}

// A replica that knows an old state of a record misleads nobody: not about
// attempts, and not about whose the latest is.
func TestRecordThatIsOld(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.behind(stateStream, 1)
	s := b.submit(c, request("old"))
	var calls atomic.Int64
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		switch n := calls.Add(1); {
		case n <= MaxAttempts+1: // deferrals are no attempts
			return nil, &Defer{After: time.Millisecond, Reason: "not now"}
		case d.Attempt == 1:
			return nil, errors.New("once more")
		}
		return proves(ctx, d)
	})
	if r := b.await(c, s.ID, Done); r.Attempt != 2 {
		t.Errorf("attempt %d, want 2", r.Attempt)
	}
}

// A read that nobody answers is asked again: the replica that got it may be
// lost.
func TestReadWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.once(directGets(StreamResults), "lost.read.>", func(*nats.Msg) {})
	if _, err := c.Result(ctx(t), "any"); !errors.Is(err, ErrNoResult) {
		t.Errorf("error %v, want ErrNoResult", err)
	}
}

// The chunks of an object that a replica doesn't have yet are read from
// another one.
func TestChunksThatAReplicaDoesNotHave(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	data := bytes.Repeat([]byte("chunk"), 3*chunkBytes/5)
	o := storeObject(t, c, "new", data)
	asked := make(chan struct{}, 1)
	b.once("$JS.API.DIRECT.GET.OBJ_"+BucketWitness, "behind.chunks", func(msg *nats.Msg) {
		notFound(msg)
		asked <- struct{}{}
	})
	r, err := c.witness.open(ctx(t), o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got, err := io.ReadAll(r)
	if err != nil || !bytes.Equal(got, data) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	select {
	case <-asked:
	default:
		t.Error("the replica wasn't asked")
	}
}

// A write whose answer was lost is found to be done, and not done twice: one
// attempt is one.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	s := b.submit(c, request("lost"))
	b.loseAnswer(stateSubject(jobKey(s.ID)))
	b.startWorker(proves)
	if r := b.await(c, s.ID, Done); r.Attempt != 1 {
		t.Errorf("attempt %d, want 1", r.Attempt)
	}

	b.loseAnswer(stateSubject(jobKey("new")))
	b.submit(c, request("new"))

	b.loseAnswer(stateSubject(leaseKey("claimed")))
	l, err := c.claim(ctx(t), "claimed", "worker", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.renew(ctx(t)); err != nil {
		t.Error(err)
	}
}

// A chunk that the broker didn't take ends the upload: the one after it must
// not be stored before it.
func TestUploadKeepsItsOrder(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	stream := mustStream(t, c, "OBJ_"+BucketWitness)
	if err := c.js.DeleteStream(ctx(t), "OBJ_"+BucketWitness); err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("order"), 2*chunkBytes/5)
	first, second := data[:chunkBytes], data[chunkBytes:]
	leaderless := readerFunc(func() error {
		if err := c.nc.FlushWithContext(ctx(t)); err != nil { // the answer for the first is here
			return err
		}
		_, err := c.js.CreateStream(ctx(t), stream.CachedInfo().Config)
		return err
	})
	err := c.witness.put(ctx(t), "x.0.y", sha256.Sum256(data), io.MultiReader(bytes.NewReader(first), leaderless, bytes.NewReader(second)), nil)
	if !errors.Is(err, jetstream.ErrNoStreamResponse) {
		t.Errorf("error %v, want ErrNoStreamResponse", err)
	}
}

// readerFunc is an empty reader that does something.
type readerFunc func() error

func (f readerFunc) Read([]byte) (int, error) {
	if err := f(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

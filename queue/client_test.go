package queue

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestQueueFull(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	s, err := c.js.Stream(ctx(t), StreamJobs)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 1
	if _, err := c.js.UpdateStream(ctx(t), cfg); err != nil {
		t.Fatal(err)
	}
	b.submit(c, request("first"))
	if _, err := c.Submit(ctx(t), request("second")); !errors.Is(err, ErrQueueFull) {
		t.Errorf("%v, want ErrQueueFull", err)
	}
	if !b.submit(c, request("first")).Duplicate {
		t.Error("the queued job again: full is not what matters")
	}
	b.startWorker(proves)
	b.await(c, "first", Done)
	b.awaitEmpty(c.js)
	if b.submit(c, request("second")).Duplicate {
		t.Error("refused before, yet called a duplicate")
	}
	b.await(c, "second", Done)
}

func TestSubmitOutlivesTheBrokersMemory(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	first := b.submit(c, request("once"))
	b.restart(c.nc)
	if s := b.submit(c, request("once")); !s.Duplicate || s.Job != first.Job {
		t.Errorf("queued job again after a restart: %+v", s)
	}
	b.startWorker(proves)
	b.await(c, "once", Done)
	b.awaitEmpty(c.js)
	b.restart(c.nc) // which forgets what it saw of consumed messages
	if !b.submit(c, request("once")).Duplicate {
		t.Error("finished job again after a restart: not seen as a duplicate")
	}
	// Another process of the producer, which knows but the id.
	if r, err := b.client().Wait(ctx(t), "once"); err != nil || r.Job != first.Job {
		t.Errorf("from another process: %+v, %v", r, err)
	}
}

func TestSubmitErrors(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	with := func(change func(*Request)) Request {
		r := request("job")
		change(&r)
		return r
	}
	for _, tt := range []struct {
		r    Request
		is   error
		want string
	}{
		{with(func(r *Request) { r.ID = "a.b" }), ErrMalformed, `queue: malformed job: id: found "a.b", expected 1 to 64 of A-Z a-z 0-9 _ -`},
		{with(func(r *Request) { r.Priority = "urgent" }), ErrMalformed, `queue: malformed job: priority: found "urgent", expected high, normal or low`},
		{with(func(r *Request) { r.Circuit = "merkle@abc" }), ErrMalformed, `queue: malformed job: circuit: found "merkle@abc", expected name@sha256 with 64 lower-case hexadecimal digits`},
		{with(func(r *Request) { r.Circuit = "nobody" }), ErrUnknownCircuit, "queue: unknown circuit: nobody"},
		{with(func(r *Request) { r.Witnesses = nil }), ErrMalformed, "queue: malformed job: proofs: found 0 elements, expected 1 to 64"},
		{with(func(r *Request) { r.Reply = "a.>" }), ErrMalformed, `queue: malformed job: reply: found "a.>", expected a subject to publish to`},
		{with(func(r *Request) { r.Deadline = time.UnixMilli(-5) }), ErrMalformed, "queue: malformed job: deadline: found -5, expected 1 to 253402300799999"},
		{with(func(r *Request) { r.Witnesses, r.Public = make28(), 1152 }), ErrTooLarge, "queue: message too large: a result of 28 proofs with 1152 public signals has up to 1042560 bytes, the limit is 983040"},
		{with(func(r *Request) { r.Witnesses = []Source{Inputs(bytes.Repeat([]byte(" "), 1<<20))} }), ErrTooLarge, "queue: message too large: the inputs exceed the message by "},
	} {
		_, err := c.Submit(ctx(t), tt.r)
		if !errors.Is(err, tt.is) || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
	}
	if _, err := c.Status(ctx(t), "job"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("a refused job left a record: %v", err)
	}
}

func make28() []Source {
	var s []Source
	for range 28 {
		s = append(s, Wtns([]byte("w")))
	}
	return s
}

func TestWitnessesThatDontFitAreUploaded(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	var sources []Source
	for i := range 3 { // two fit
		sources = append(sources, Wtns(bytes.Repeat([]byte{byte(i)}, 400<<10)))
	}
	r := Request{ID: "spill", Circuit: "merkle@" + digestHex, Witnesses: sources}
	s := b.submit(c, r)
	m, err := mustStream(t, c, StreamJobs).GetLastMsgForSubject(ctx(t), JobSubject(Normal, "merkle", "spill"))
	if err != nil {
		t.Fatal(err)
	}
	job, err := DecodeJob(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	if w := job.Witnesses; len(w[0].Wtns) != 400<<10 || len(w[1].Wtns) != 400<<10 || w[2].Object == nil || w[2].Size() != 400<<10 {
		t.Errorf("sizes %d, %d, %+v", len(w[0].Wtns), len(w[1].Wtns), w[2].Object)
	}
	b.startWorker(proves)
	b.await(c, s.ID, Done)
	b.awaitEmpty(c.js)
}

func mustStream(t *testing.T, c *Client, name string) jetstream.Stream {
	t.Helper()
	s, err := c.js.Stream(ctx(t), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProgressEvents(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	events := make(chan Progress, 16)
	stop, err := c.OnProgress("watched", func(p Progress) { events <- p })
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Name = "w" })
	b.submit(c, request("watched"))
	for _, want := range []Progress{
		{State: Running, Phase: PhaseWitness}, {State: Running, Phase: PhaseDevice}, {State: Done, Percent: 100},
	} {
		select {
		case p := <-events:
			want.ID, want.Worker, want.Attempt, want.At = "watched", "w", 1, p.At
			if p != want || p.At.IsZero() {
				t.Errorf("event %+v, want %+v", p, want)
			}
		case <-ctx(t).Done():
			t.Fatal("no event")
		}
	}
}

func TestCircuitNames(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	record := CircuitRecord{Name: "merkle", Digest: digestHex, Curve: "bn128", Public: 3}
	if err := c.RegisterCircuit(ctx(t), record, false); err != nil {
		t.Fatal(err)
	}
	if err := c.RegisterCircuit(ctx(t), record, false); err != nil {
		t.Errorf("again: %v", err)
	}
	if got, err := c.Circuit(ctx(t), "merkle"); err != nil || got != record {
		t.Errorf("%+v, %v", got, err)
	}
	other := record
	other.Digest = strings.Repeat("ab", 32)
	if err := c.RegisterCircuit(ctx(t), other, false); !errors.Is(err, ErrCircuitConflict) {
		t.Errorf("%v, want ErrCircuitConflict", err)
	}
	r := request("named")
	r.Circuit = "merkle"
	if s := b.submit(c, r); s.Circuit != record.Ref() {
		t.Errorf("resolved to %s", s.Circuit)
	}
	if err := c.RegisterCircuit(ctx(t), other, true); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Circuit(ctx(t), "merkle"); err != nil || got != other {
		t.Errorf("replaced: %+v, %v", got, err)
	}
	if err := c.RegisterCircuit(ctx(t), CircuitRecord{Name: "a.b", Digest: digestHex}, false); err == nil {
		t.Error("a name with a dot was registered")
	}
}

func TestResultOfNobody(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	for _, id := range []string{"nobody", "a.b", "*", ""} {
		if _, err := c.Result(ctx(t), id); !errors.Is(err, ErrNoResult) {
			t.Errorf("%q: %v, want ErrNoResult", id, err)
		}
		if _, err := c.Status(ctx(t), id); !errors.Is(err, ErrUnknownJob) {
			t.Errorf("%q: %v, want ErrUnknownJob", id, err)
		}
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	c := startBroker(t).client()
	a, err := c.claim(ctx(t), "job", "a", 2*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var held *heldError
	if _, err := c.claim(ctx(t), "job", "b", 2*time.Second); !errors.As(err, &held) || held.left <= 0 || held.left > 2*time.Second {
		t.Fatalf("%v, want held", err)
	}
	if err := a.renew(ctx(t)); err != nil {
		t.Error(err)
	}
	a.seq-- // as if the answer to the renewal had been lost
	if err := a.renew(ctx(t)); err != nil {
		t.Errorf("own lease after a lost answer: %v", err)
	}
	if err := a.release(ctx(t)); err != nil {
		t.Error(err)
	}
	b, err := c.claim(ctx(t), "job", "b", 2*time.Second)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	if err := a.renew(ctx(t)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("renewed after its release: %v", err)
	}
	if err := a.release(ctx(t)); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("released twice: %v", err)
	}
	if err := b.renew(ctx(t)); err != nil {
		t.Error(err)
	}
}

func TestNames(t *testing.T) {
	for s, want := range map[string]bool{
		"a": true, "A-Z_09": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a.b": false, "*": false, ">": false, "a b": false, "é": false, "a\n": false,
	} {
		if ValidToken(s) != want {
			t.Errorf("ValidToken(%q) is not %t", s, want)
		}
	}
	p, circuit, id, err := ParseJobSubject(JobSubject(Low, "c", "j"))
	if p != Low || circuit != "c" || id != "j" || err != nil {
		t.Error(p, circuit, id, err)
	}
	for _, s := range []string{"", "pinion.job.low.c", "pinion.job.low.c.j.x", "pinion.job.urgent.c.j", "pinion.result.low.c.j", "pinion.job.low.*.j"} {
		if _, _, _, err := ParseJobSubject(s); err == nil || err.Error() != fmt.Sprintf("queue: subject %q: expected pinion.job.<high|normal|low>.<circuit>.<job>", s) {
			t.Error(err)
		}
	}
	for s, want := range map[string]bool{
		"a": true, "_INBOX.x.1": true, "$JS.ACK": true,
		"": false, "a..b": false, ".a": false, "a.": false, "a.*": false, "a.>": false, "a b": false, "a\tb": false,
	} {
		if validSubject(s) != want {
			t.Errorf("validSubject(%q) is not %t", s, want)
		}
	}
}

// deleteRecord deletes a job's record as `nats kv del` does.
func deleteRecord(t *testing.T, c *Client, id string) {
	t.Helper()
	state, err := c.js.KeyValue(ctx(t), BucketState)
	if err == nil {
		err = state.Delete(ctx(t), jobKey(id))
	}
	if err != nil {
		t.Fatal(err)
	}
}

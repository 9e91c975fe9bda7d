package queue

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// A failed job with all kinds of witnesses is submitted again from its dead
// letter, and its witnesses are there.
func TestRequeue(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c, err := NewClient(ctx(t), b.connect(), ClientConfig{InlineLimit: 100})
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("large"), 300_000)
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Job.Meta[MetaOrigin] == "" {
			return nil, &Failure{Code: "device_fault", Msg: "lost"}
		}
		if d.Job.Meta["customer"] != "42" || !d.Job.Deadline.IsZero() || d.Priority != Low {
			t.Errorf("%+v in lane %s", d.Job, d.Priority)
		}
		return proves(ctx, d)
	})
	in, err := c.NewInbox()
	if err != nil {
		t.Fatal(err)
	}
	s := b.submit(c, Request{
		ID: "first", Circuit: "merkle@" + digestHex, Priority: Low, Witnesses: []Source{Wtns([]byte("small")), Wtns(large), Inputs([]byte("{}"))},
		Meta: map[string]string{"customer": "42"}, Deadline: time.Now().Add(time.Hour), Reply: in.Subject(),
	})
	b.await(c, s.ID, Failed)

	again, err := c.Requeue(ctx(t), "first", "second")
	if err != nil || again.ID != "second" || again.Circuit != s.Circuit || again.Duplicate {
		t.Fatalf("%+v, %v", again, err)
	}
	if r := b.await(c, "second", Done); len(r.Proofs) != 3 {
		t.Errorf("%d proofs", len(r.Proofs))
	}
	if r := next(t, in, KindResult); r.Job != "second" {
		t.Errorf("replied %+v", r)
	}
	if again, err := c.Requeue(ctx(t), "first", "second"); err != nil || !again.Duplicate {
		t.Errorf("once more under that id: %+v, %v", again, err)
	}
	if _, err := c.Requeue(ctx(t), "first", "first"); !errors.Is(err, ErrIDConflict) {
		t.Errorf("under its own id: %v, want ErrIDConflict", err)
	}
	if _, err := c.Requeue(ctx(t), "second", ""); !errors.Is(err, ErrNoDeadLetter) {
		t.Errorf("a job that is done: %v, want ErrNoDeadLetter", err)
	}
	if third, err := c.Requeue(ctx(t), "first", ""); err != nil || third.ID == "" {
		t.Errorf("under a random id: %+v, %v", third, err)
	} else {
		b.await(c, third.ID, Done)
	}
	b.awaitEmpty(c.js)
}

func TestRequeueWhatIsNoJob(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorker(proves)
	b.publishJob(c, Normal, "merkle", "garbage", []byte{0xc1}, nil)
	b.await(c, "garbage", Failed)
	_, err := c.Requeue(ctx(t), "garbage", "again")
	if want := "queue: requeue garbage: queue: malformed job: found the byte 0xc1, which begins no value, expected one msgpack map"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if _, err := c.Status(ctx(t), "again"); !errors.Is(err, ErrUnknownJob) {
		t.Errorf("a record of it: %v", err)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	ids := func() (jobs, letters string) {
		t.Helper()
		for st, err := range c.Jobs(ctx(t)) {
			if jobs += st.ID + ":" + string(st.State) + " "; err != nil {
				t.Error(err)
			}
		}
		for l, err := range c.DeadLetters(ctx(t)) {
			if err != nil {
				t.Fatal(err)
			}
			letters += l.ID + " "
		}
		return jobs, letters
	}
	if jobs, letters := ids(); jobs != "" || letters != "" {
		t.Errorf("before there are any: %s; %s", jobs, letters)
	}
	w := b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Job.ID == "good" {
			return proves(ctx, d)
		}
		return nil, &Failure{Code: "device_fault", Msg: "lost " + d.Job.ID}
	}, func(cfg *WorkerConfig) { cfg.Name = "w" })
	for _, id := range []string{"bad-1", "good", "bad-2"} {
		s := b.submit(c, request(id))
		if _, err := c.Wait(ctx(t), s.ID); err != nil {
			t.Fatal(err)
		}
		b.awaitEmpty(c.js)
	}
	if err := w.stop(); err != nil {
		t.Error(err)
	}
	b.submit(c, request("waits"))
	if jobs, letters := ids(); jobs != "bad-1:failed good:done bad-2:failed waits:queued " || letters != "bad-1 bad-2 " {
		t.Errorf("jobs %s; letters %s", jobs, letters)
	}
	if _, err := c.js.Publish(ctx(t), stateSubject(jobKey("odd")), []byte("?")); err != nil {
		t.Fatal(err)
	}
	var odd error
	for st, err := range c.Jobs(ctx(t)) {
		if err != nil && st.ID == "odd" {
			odd = err
		}
	}
	if odd == nil || !strings.HasPrefix(odd.Error(), "queue: record job.odd: queue: malformed status: ") {
		t.Errorf("a record that can't be read: %v", odd)
	}

	l, err := c.DeadLetter(ctx(t), "bad-2")
	if err != nil {
		t.Fatal(err)
	}
	if l.ID != "bad-2" || l.Subject != JobSubject(Normal, "merkle", "bad-2") || l.Code != "device_fault" || l.Error != "lost bad-2" ||
		l.Attempt != 1 || l.Worker != "w" || l.At.IsZero() || len(l.History) != 1 || l.History[0].Error != "device_fault: lost bad-2" {
		t.Errorf("dead letter %+v", l)
	}
	if job, err := DecodeJob(l.Body); err != nil || job.ID != "bad-2" {
		t.Errorf("its job: %+v, %v", job, err)
	}
	for _, id := range []string{"nobody", "a.b", "*"} {
		if _, err := c.DeadLetter(ctx(t), id); !errors.Is(err, ErrNoDeadLetter) {
			t.Errorf("%q: %v, want ErrNoDeadLetter", id, err)
		}
	}
}

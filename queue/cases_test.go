package queue

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// Situations that users of other queues have reported. Those that need a
// process that can be stopped are in cmd/pinion.

// The dead letter comes first: while it can't be stored, the job stays queued
// and has no result.
func TestQ02DeadLetterBeforeTheJobGoes(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	if err := c.js.DeleteStream(ctx(t), StreamDead); err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	b.startWorker(func(context.Context, *Delivery) (*Outcome, error) {
		calls.Add(1)
		return nil, &Failure{Code: "invalid_witness", Msg: "constraint 7 isn't satisfied"}
	})
	s := b.submit(c, request("lost"))
	b.eventually("two attempts have failed", func() bool { return calls.Load() >= 2 })
	if _, err := c.Result(ctx(t), s.ID); !errors.Is(err, ErrNoResult) {
		t.Errorf("a result without a dead letter: %v", err)
	}
	if info := mustStream(t, c, StreamJobs).CachedInfo(); info.State.Msgs != 1 {
		t.Errorf("%d jobs queued, want the one", info.State.Msgs)
	}
	if _, err := Provision(ctx(t), c.js, Options{AckWait: ackWait}); err != nil {
		t.Fatal(err)
	}
	b.await(c, s.ID, Failed)
	b.awaitEmpty(c.js)
	if l := b.deadLetters(c.js, s.ID); len(l) != 1 || digestOf(l[0].Data) != s.Job {
		t.Errorf("dead letters %v", l)
	}
}

// A reader may be slower than every timeout of the client library.
func TestQ10SlowReader(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	const size, pauses = 64 << 20, 11
	o := storeObject(t, c, "large", bytes.Repeat([]byte("0123456789abcdef"), size/16))
	slowly := func(ctx context.Context) error {
		r, err := c.witness.open(ctx, o)
		if err != nil {
			return err
		}
		defer r.Close()
		sum := sha256.New()
		for range pauses {
			if _, err := io.CopyN(sum, r, size/pauses); err != nil {
				return err
			}
			pause(ctx, 500*time.Millisecond)
		}
		if _, err := io.Copy(sum, r); err != nil {
			return err
		}
		if [32]byte(sum.Sum(nil)) != o.SHA256 {
			t.Error("other bytes than were stored")
		}
		return nil
	}
	// A job's reading ends at the job's own deadline.
	b.startWorker(func(ctx context.Context, _ *Delivery) (*Outcome, error) { return nil, slowly(ctx) })
	r := request("late")
	r.Deadline = time.Now().Add(2 * time.Second)
	b.submit(c, r)
	if err := slowly(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	if got := b.await(c, "late", Expired); got.Err.Code != CodeDeadline || got.Attempt != 1 {
		t.Errorf("attempt %d: %v", got.Attempt, got.Err)
	}
}

// Heartbeats keep a job while every core is busy. Not parallel: it takes all
// of them.
func TestQ13LongJobUnderFullLoad(t *testing.T) {
	b := startBroker(t)
	c := b.client()
	var load sync.WaitGroup
	defer load.Wait()
	loaded, unload := context.WithCancel(ctx(t))
	defer unload()
	for range runtime.GOMAXPROCS(0) {
		load.Go(func() {
			for sum := [32]byte{}; loaded.Err() == nil; {
				sum = sha256.Sum256(sum[:])
			}
		})
	}
	var begun atomic.Int64
	h := func(ctx context.Context, d *Delivery) (*Outcome, error) {
		begun.Add(1)
		pause(ctx, 3*ackWait)
		return proves(ctx, d)
	}
	b.startWorker(h)
	b.startWorker(h)
	b.submit(c, request("long"))
	if r := b.await(c, "long", Done); r.Attempt != 1 || begun.Load() != 1 {
		t.Errorf("attempt %d, begun %d times", r.Attempt, begun.Load())
	}
}

// A dependency that is away for a moment costs attempts that are spaced out,
// not all of them in milliseconds.
func TestQ16ObjectStoreAway(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c, err := NewClient(ctx(t), b.connect(), ClientConfig{InlineLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	const delay = 500 * time.Millisecond
	away, failed := make(chan struct{}), make(chan struct{}, MaxAttempts)
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		<-away
		o, err := proves(ctx, d)
		if err != nil {
			failed <- struct{}{}
		}
		return o, err
	}, func(cfg *WorkerConfig) { cfg.RetryDelay = delay })
	r := request("patient")
	b.submit(c, r)
	if err := c.js.DeleteStream(ctx(t), "OBJ_"+BucketWitness); err != nil {
		t.Fatal(err)
	}
	close(away)
	<-failed
	if _, err := Provision(ctx(t), c.js, Options{AckWait: ackWait}); err != nil {
		t.Fatal(err)
	}
	storeObject(t, c, r.ID, []byte("witness of patient"))
	if got := b.await(c, r.ID, Done); got.Attempt < 2 {
		t.Errorf("attempt %d", got.Attempt)
	}
	st, err := c.Status(ctx(t), r.ID)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range st.History[1:] {
		if gap := time.Duration(a.At-st.History[i].At) * time.Millisecond; gap < delay<<i {
			t.Errorf("attempt %d began %s after the one before, want at least %s", a.Attempt, gap, delay<<i)
		}
	}
}

// A job that loses its lease while it waits for the device never reaches it.
func TestQ18LeaseLostWhileWaitingForTheDevice(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	device := make(chan struct{}, 1) // full: busy
	device <- struct{}{}
	waits, gone := make(chan struct{}, 1), make(chan error, 1)
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		if d.Attempt > 1 {
			return proves(ctx, d)
		}
		d.Progress(PhaseWait, 0)
		waits <- struct{}{}
		select {
		case device <- struct{}{}:
			t.Error("the kernels started without the lease")
		case <-ctx.Done():
			gone <- context.Cause(ctx)
		}
		return nil, ctx.Err()
	})
	s := b.submit(c, request("queued-for-device"))
	<-waits
	b.steal(c, s.ID)
	if err := <-gone; !errors.Is(err, ErrLeaseLost) {
		t.Errorf("cause %v, want ErrLeaseLost", err)
	}
	<-device // free, now that it is too late
	if r := b.await(c, s.ID, Done); r.Attempt != 2 {
		t.Errorf("attempt %d, want 2", r.Attempt)
	}
}

// A proof of many ack waits, with an idle worker beside, is made once: the
// ratio is that of two minutes to the usual 30 s. Either of the two that keep
// it, the lease and the ack wait, would hide that the other isn't kept.
func TestQ19ProofOfManyAckWaits(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	const waits = 4
	leases := b.count(stateSubject(leaseKey("long")), "worker-")
	beats := b.count("$JS.ACK."+StreamJobs+".>", "+WPI")
	var begun atomic.Int64
	h := func(ctx context.Context, d *Delivery) (*Outcome, error) {
		begun.Add(1)
		d.Progress(PhaseDevice, 0)
		pause(ctx, waits*ackWait)
		return proves(ctx, d)
	}
	for i := range 2 {
		b.startWorker(h, func(cfg *WorkerConfig) { cfg.Name = fmt.Sprint("worker-", i) })
	}
	b.submit(c, request("long"))
	if r := b.await(c, "long", Done); r.Attempt != 1 || begun.Load() != 1 {
		t.Errorf("attempt %d, begun %d times", r.Attempt, begun.Load())
	}
	b.awaitEmpty(c.js)
	if n := leases.Load(); n < 1+waits/2 { // it lives for two ack waits
		t.Errorf("the lease was written %d times", n)
	}
	if n := beats.Load(); n < waits-1 {
		t.Errorf("the broker was told %d times that the job is in work", n)
	}
}

// count counts the messages on a subject that begin so.
func (b *broker) count(subject, begins string) *atomic.Int64 {
	b.t.Helper()
	n := &atomic.Int64{}
	nc := b.connect()
	if _, err := nc.Subscribe(subject, func(msg *nats.Msg) {
		if bytes.HasPrefix(msg.Data, []byte(begins)) {
			n.Add(1)
		}
	}); err != nil {
		b.t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		b.t.Fatal(err)
	}
	return n
}

// Many producers submit other witnesses under one id at the same time: one
// job is taken, all others are refused, and the one result is that job's.
func TestP2ManyJobsOfOneID(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	submitted := make(chan struct{})
	b.startWorker(func(_ context.Context, d *Delivery) (*Outcome, error) {
		<-submitted // a result would tell the others too
		o := &Outcome{}
		for _, w := range d.Job.Witnesses {
			o.Proofs = append(o.Proofs, Proof{Proof: bytes.Clone(w.Wtns)})
		}
		return o, nil
	})
	const producers = 8
	accepted := make([]bool, producers)
	var submitting sync.WaitGroup
	for i := range producers {
		c := b.client()
		submitting.Go(func() {
			r := request("same")
			r.Witnesses = slices.Repeat([]Source{Wtns(fmt.Append(nil, "witness ", i))}, 10)
			_, err := c.Submit(ctx(t), r)
			if accepted[i] = err == nil; !accepted[i] && !errors.Is(err, ErrIDConflict) {
				t.Errorf("producer %d: %v, want ErrIDConflict", i, err)
			}
		})
	}
	submitting.Wait()
	close(submitted)
	winner := slices.Index(accepted, true)
	if winner < 0 || slices.Contains(accepted[winner+1:], true) {
		t.Fatalf("accepted: %v, want one", accepted)
	}
	c := b.client()
	r := b.await(c, "same", Done)
	for _, p := range r.Proofs {
		if got, want := string(p.Proof), fmt.Sprint("witness ", winner); got != want {
			t.Errorf("proof of %q, want of %q", got, want)
		}
	}
	b.awaitEmpty(c.js)
	if l := b.deadLetters(c.js, "same"); len(l) != 0 {
		t.Errorf("%d dead letters", len(l))
	}
}

package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/queue"
)

// lease is how long the lease of a job lives in these tests, without heartbeats.
const lease = 2 * ackWait

// entering holds a worker back once it has told that the job enters the phase.
func entering(id, phase string) func(string, []byte) verdict {
	return func(subject string, body []byte) verdict {
		if subject == queue.ProgressSubject(id) {
			if p, err := queue.DecodeProgress(body); err == nil && p.Phase == phase {
				return last
			}
		}
		return pass
	}
}

// sending holds a worker back at a message on a subject that begins so.
func sending(prefix string, v verdict) func(string, []byte) verdict {
	return func(subject string, _ []byte) verdict {
		if strings.HasPrefix(subject, prefix) {
			return v
		}
		return pass
	}
}

// A worker that is killed with a job in hand, wherever in the job: another one takes it within the lease's time, there is exactly one
// result, and no dead letter.
func TestKilledWorker(t *testing.T) {
	t.Parallel()
	const id = "job"
	for _, test := range []struct {
		name    string
		at      func(string, []byte) verdict
		worker  string // whose the result is
		attempt int
	}{
		{"decode", sending("$JS.API.DIRECT.GET.KV_"+queue.BucketState+".$KV."+queue.BucketState+".job."+id, stop), "second", 1},
		{"fetch", sending("$JS.API.DIRECT.GET.OBJ_"+queue.BucketWitness, stop), "second", 2},
		{"witness", entering(id, queue.PhaseWitness), "second", 2},
		{"synthesis", entering(id, queue.PhaseSynthesis), "second", 2},
		{"queue for the device", entering(id, queue.PhaseWait), "second", 2},
		{"kernels", entering(id, queue.PhaseDevice), "second", 2},
		{"verification", entering(id, queue.PhaseCheck), "second", 2},
		{"after result", sending(queue.ResultSubject(id), last), "first", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			b := provisioned(t)
			p := startProxy(t, b.url, test.at)
			first, _ := startWorker(t, workerEnv(p.url, "first", "PINION_SYNTHESIS=host"))
			b.submitUploaded(t, id)
			<-p.held
			startWorker(t, workerEnv(b.url, "second", "PINION_SYNTHESIS=host"))
			resumed := b.resumed(t, id, "second")
			if code := first.signal(t, syscall.SIGKILL); code != -1 {
				t.Fatalf("exit code %d", code)
			}
			if test.worker == "second" {
				resumed(lease + 2*time.Second)
			}
			r := b.result(t, id)
			verified(t, r, "multiplier", "bn128")
			if r.Worker != test.worker || r.Attempt != test.attempt {
				t.Errorf("attempt %d by %s, want %d by %s", r.Attempt, r.Worker, test.attempt, test.worker)
			}
			b.settled(t, 1)
		})
	}
}

// submitUploaded submits a small job with its witness in the object bucket.
func (b *broker) submitUploaded(t *testing.T, id string) {
	t.Helper()
	client, err := queue.NewClient(t.Context(), b.nc, queue.ClientConfig{InlineLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = client.Submit(t.Context(), queue.Request{
		ID: id, Circuit: "multiplier-bn128@" + digest(t, catalogue, "multiplier-bn128"),
		Witnesses: []queue.Source{queue.Wtns(read(t, exampleFile("multiplier", "bn128", circuits.Witness)))},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// resumed waits, within a time, for news that the worker works on the job.
func (b *broker) resumed(t *testing.T, id, worker string) (wait func(within time.Duration)) {
	t.Helper()
	works := make(chan struct{})
	var once sync.Once
	unsubscribe, err := b.client.OnProgress(id, func(p queue.Progress) {
		if p.Worker == worker {
			once.Do(func() { close(works) })
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func(within time.Duration) {
		t.Helper()
		defer unsubscribe()
		select {
		case <-works:
		case <-time.After(within):
			t.Errorf("%s hasn't resumed job %s within %s", worker, id, within)
		}
	}
}

// settled waits until no job is queued, and checks that there are so many results and no dead letters.
func (b *broker) settled(t *testing.T, results uint64) {
	t.Helper()
	eventually(t, "no job is queued", func() bool { return b.messages(t, queue.StreamJobs) == 0 })
	if n := b.messages(t, queue.StreamResults); n != results {
		t.Errorf("%d results, want %d", n, results)
	}
	for letter, err := range b.client.DeadLetters(t.Context()) {
		t.Errorf("dead letter %+v, %v", letter, err)
	}
}

// eventually polls what no event announces.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for timeout := time.After(patience); !ok(); {
		select {
		case <-tick.C:
		case <-timeout:
			t.Fatal("not so: " + what)
		}
	}
}

// A worker that is frozen for longer than its lease, with a proof in hand: the other's result stays, and the frozen one, once it goes
// on, takes jobs again.
func TestQ04FrozenWorker(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	p := startProxy(t, b.url, entering("job", queue.PhaseCheck))
	first, web := startWorker(t, workerEnv(p.url, "first"))
	b.submitUploaded(t, "job")
	<-p.held
	if err := first.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	second, _ := startWorker(t, workerEnv(b.url, "second"))
	r := b.result(t, "job")
	verified(t, r, "multiplier", "bn128")
	if r.Worker != "second" || r.Attempt != 2 {
		t.Errorf("attempt %d by %s", r.Attempt, r.Worker)
	}
	if code := second.signal(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("second: exit code %d", code)
	}
	p.release()
	if err := first.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	first.line(t, `"lease lost"|"job concluded".*"by":"second"`) // whatever it notices first: its lease, or that its result is refused
	b.submitUploaded(t, "next")
	if r := b.result(t, "next"); r.Worker != "first" || r.Attempt != 1 {
		t.Errorf("next: attempt %d by %s", r.Attempt, r.Worker)
	}
	eventually(t, "the worker is ready", func() bool {
		code, _ := get(t, web+"/readyz")
		return code == http.StatusOK
	})
	b.settled(t, 2)
	if again := b.stored(t, "job"); again == nil || again.Worker != "second" {
		t.Errorf("the result is now %+v", again)
	}
}

// The network between a worker and the broker is cut in the middle of its jobs for longer than their leases: none is lost, none is proven
// into two results, and the worker comes back by itself.
func TestNetworkCut(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	p := startProxy(t, b.url, func(string, []byte) verdict { return pass })
	_, web := startWorker(t, workerEnv(p.url, "first"))
	done := b.done(t)
	ids := b.many(t, "before", 60)
	receive(t, done, 5)
	p.cut()
	second, _ := startWorker(t, workerEnv(b.url, "second"))
	for _, id := range ids {
		if r := b.result(t, id); r.State != queue.Done {
			t.Errorf("%s: %s: %v", id, r.State, r.Err)
		}
	}
	b.settled(t, 60)
	if code := second.signal(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("second: exit code %d", code)
	}
	if code, body := get(t, web+"/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("ready without a broker: %d %s", code, body)
	}
	p.mend()
	for _, id := range b.many(t, "after", 5) {
		if r := b.result(t, id); r.Worker != "first" {
			t.Errorf("%s by %s", id, r.Worker)
		}
	}
	b.settled(t, 65)
}

// many submits n small jobs and returns their ids.
func (b *broker) many(t *testing.T, name string, n int) (ids []string) {
	t.Helper()
	requests := make([]queue.Request, n)
	for i := range requests {
		ids = append(ids, fmt.Sprintf("%s-%d", name, i))
		requests[i] = queue.Request{
			ID: ids[i], Circuit: "multiplier-bn128@" + digest(t, catalogue, "multiplier-bn128"),
			Witnesses: []queue.Source{queue.Inputs([]byte(`{"a": 3, "b": 5}`))},
		}
	}
	for _, s := range b.client.SubmitBatch(t.Context(), requests) {
		if s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	return ids
}

// done receives a message for each result that is stored from now on.
func (b *broker) done(t *testing.T) <-chan *nats.Msg {
	t.Helper()
	done := make(chan *nats.Msg, 1000)
	if _, err := b.nc.ChanSubscribe(queue.DoneSubject("*"), done); err != nil {
		t.Fatal(err)
	}
	return done
}

// receive waits for n messages.
func receive(t *testing.T, messages <-chan *nats.Msg, n int) {
	t.Helper()
	for range n {
		select {
		case <-messages:
		case <-time.After(patience):
			t.Fatal("no result")
		}
	}
}

// SIGTERM while the queue is full of jobs: those in hand are finished, the rest goes to others, and each is begun once.
func TestDrainUnderLoad(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	first, _ := startWorker(t, workerEnv(b.url, "first"))
	done := b.done(t)
	ids := b.many(t, "job", 60)
	receive(t, done, 5)
	second, _ := startWorker(t, workerEnv(b.url, "second"))
	if code := first.signal(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	workers := map[string]int{}
	for _, id := range ids {
		r := b.result(t, id)
		if workers[r.Worker]++; r.State != queue.Done || r.Attempt != 1 {
			t.Errorf("%s: %s, attempt %d: %v", id, r.State, r.Attempt, r.Err)
		}
	}
	if workers["first"] < 5 || workers["second"] == 0 {
		t.Errorf("jobs by worker: %v", workers)
	}
	b.settled(t, 60)
	if code := second.signal(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("second: exit code %d", code)
	}
}

// A broker that is restarted, again and again, while its workers are idle: they bind again by themselves, and take the next job soon.
func TestQ03RestartedBroker(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	var webs []string
	for _, name := range []string{"first", "second"} {
		_, web := startWorker(t, workerEnv(b.url, name))
		webs = append(webs, web)
	}
	for i := range 5 {
		b.process.signal(t, syscall.SIGTERM)
		b.start(t)
		for _, web := range webs {
			eventually(t, "the worker is ready", func() bool {
				code, _ := get(t, web+"/readyz")
				return code == http.StatusOK
			})
		}
		eventually(t, "the producer is connected", b.nc.IsConnected)
		id := b.many(t, fmt.Sprint("round-", i), 1)[0]
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		r, err := b.client.Wait(ctx, id)
		cancel()
		if err != nil || r.State != queue.Done || r.Attempt != 1 {
			t.Fatalf("round %d: %+v, %v", i, r, err)
		}
	}
	b.settled(t, 5)
}

// The broker is killed in the middle of 200 jobs and started again: none is lost, none is proven into two results, and the workers come
// back by themselves.
func TestKilledBroker(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	for _, name := range []string{"first", "second"} {
		startWorker(t, workerEnv(b.url, name))
	}
	done := b.done(t)
	const some = 40
	ids := b.many(t, "job", 200)
	receive(t, done, some)
	if code := b.process.signal(t, syscall.SIGKILL); code != -1 {
		t.Fatalf("exit code %d", code)
	}
	if some+len(done) == len(ids) {
		t.Fatal("all jobs were done before the broker was killed")
	}
	b.start(t)
	for _, id := range ids {
		if r := b.result(t, id); r.State != queue.Done {
			t.Errorf("%s: %s: %v", id, r.State, r.Err)
		}
	}
	b.settled(t, 200)
}

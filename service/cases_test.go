package service

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
	"github.com/pinion-zk/pinion/queue"
)

// Situations that users of other queues have reported, with the queue, the engine and the executor together, on a device that the test
// holds back. Those of the queue alone are in package queue.

// heldDevice is the CPU device. Its runs are done once the test lets them go.
type heldDevice struct {
	gpu.Device
	begun   chan struct{} // a token for each run
	release chan struct{} // closed: all may go
}

func (d *heldDevice) Begin(task *gpu.Task) (gpu.Run, error) {
	run, err := d.Device.Begin(task)
	if err != nil {
		return nil, err
	}
	d.begun <- struct{}{}
	held := &heldRun{Run: run, done: make(chan struct{})}
	go func() {
		<-run.Done()
		<-d.release
		close(held.done)
	}()
	return held, nil
}

type heldRun struct {
	gpu.Run
	done chan struct{}
}

func (r *heldRun) Done() <-chan struct{} { return r.done }

// yard is a broker and a producer.
type yard struct {
	t      *testing.T
	url    string
	js     jetstream.JetStream
	client *queue.Client
}

func newYard(t *testing.T) *yard {
	t.Helper()
	b, err := StartBroker(t.TempDir(), "127.0.0.1:0", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	y := &yard{t: t, url: b.URL()}
	y.js, _ = openStream(t, b)
	if _, err := queue.Provision(t.Context(), y.js, queue.Options{AckWait: time.Second}); err != nil {
		t.Fatal(err)
	}
	y.client = connectClient(t, testConfig(t), y.url)
	return y
}

// proving is a worker with all that works for it.
type proving struct {
	*queue.Worker
	*Prover
	device *heldDevice
	free   func() // lets the device go
}

// start runs a worker until the test ends. Its device is held until it is set free.
func (y *yard) start(name string, change func(*Config)) *proving {
	y.t.Helper()
	config := testConfig(y.t)
	change(config)
	device := &heldDevice{Device: gpu.NewCPU(), begun: make(chan struct{}, 16), release: make(chan struct{})}
	log := slog.New(slog.DiscardHandler)
	p, err := config.proverOn(device, pool.HugePages{}, log, noop.Tracer{})
	if err != nil {
		y.t.Fatal(err)
	}
	config.NATS = y.url
	nc, err := config.Connect(name, log)
	if err != nil {
		y.t.Fatal(err)
	}
	infos, err := p.Catalogue.List()
	if err == nil {
		err = RegisterCircuit(y.t.Context(), y.client, infos[0], false)
	}
	if err != nil {
		y.t.Fatal(err)
	}
	h, _ := newHandler(y.t, p.Engine)
	w, err := queue.NewWorker(y.t.Context(), nc, queue.WorkerConfig{Name: name, Handler: h, Jobs: 2, Healthy: p.healthy, Log: log})
	if err != nil {
		y.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	running := &proving{w, p, device, sync.OnceFunc(func() { close(device.release) })}
	y.t.Cleanup(func() {
		running.free()
		stop()
		if err := errors.Join(<-ended, p.Close(context.Background())); err != nil {
			y.t.Error(err)
		}
		nc.Close()
	})
	return running
}

func (y *yard) submit(id string) {
	y.t.Helper()
	if _, err := y.client.Submit(y.t.Context(), queue.Request{ID: id, Circuit: "multiplier", Witnesses: []queue.Source{queue.Wtns(exampleWitness(y.t))}}); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) await(id string, want queue.State) *queue.Result {
	y.t.Helper()
	ctx, cancel := context.WithTimeout(y.t.Context(), patience)
	defer cancel()
	r, err := y.client.Wait(ctx, id)
	if err != nil || r.State != want {
		y.t.Fatalf("%v, %+v, want %s", err, r, want)
	}
	return r
}

// receive waits for a token of a channel.
func receive[T any](t *testing.T, what string, c <-chan T) (token T) {
	t.Helper()
	select {
	case token = <-c:
	case <-time.After(patience):
		t.Fatalf("no %s", what)
	}
	return token
}

// A device that never comes back: its job goes to another worker, and its own is unhealthy and takes no more.
func TestQ14DeviceHangs(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	hung := y.start("hung", func(c *Config) { c.DeviceTime = 2 * time.Second })
	y.submit("job")
	receive(t, "run on the device", hung.device.begun)
	healthy := y.start("healthy", func(*Config) {})
	healthy.free()
	if r := y.await("job", queue.Done); r.Worker != "healthy" || r.Attempt != 2 {
		t.Errorf("attempt %d by %s", r.Attempt, r.Worker)
	}
	if err := hung.Ready(); !errors.Is(err, gpu.ErrHung) {
		t.Errorf("ready: %v, want ErrHung", err)
	}
}

// A job that loses its lease while the device works on another never reaches the device.
func TestQ18LeaseLostWhileTheDeviceIsBusy(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	w := y.start("worker", func(*Config) {})
	y.submit("first")
	receive(t, "run on the device", w.device.begun)
	waits := make(chan struct{}, 16)
	stop, err := y.client.OnProgress("second", func(p queue.Progress) {
		if p.Phase == queue.PhaseWait {
			waits <- struct{}{}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	y.submit("second")
	receive(t, "job that waits for the device", waits)
	// Somebody else holds the lease now, for two seconds.
	if _, err := y.js.Publish(t.Context(), "$KV."+queue.BucketState+".lease.second", []byte("thief x"), jetstream.WithMsgTTL(2*time.Second)); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(patience); w.Stats().LeaseLost == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the lease isn't lost")
		}
	}
	w.free()
	y.await("first", queue.Done)
	if r := y.await("second", queue.Done); r.Attempt != 2 {
		t.Errorf("attempt %d, want 2", r.Attempt)
	}
	if n := 1 + len(w.device.begun); n != 2 {
		t.Errorf("%d runs on the device, want one for each job", n)
	}
}

// A witness that isn't what its job says is refused before anything is proven, and its buffers go back.
func TestQ11DamagedWitness(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	w := y.start("worker", func(*Config) {})
	wtns := exampleWitness(t)
	o := &queue.Object{Name: queue.ObjectName("job", 0, sha256.Sum256(wtns)), Len: int64(len(wtns)), SHA256: sha256.Sum256(wtns)}
	flipped := bytes.Clone(wtns)
	flipped[len(flipped)-32] ^= 1
	bucket, err := y.js.ObjectStore(t.Context(), queue.BucketWitness)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bucket.PutBytes(t.Context(), o.Name, flipped); err != nil {
		t.Fatal(err)
	}
	record, err := y.client.Circuit(t.Context(), "multiplier")
	if err != nil {
		t.Fatal(err)
	}
	job := queue.EncodeJob(&queue.Job{ID: "job", Circuit: record.Ref(), Witnesses: []queue.Witness{{Object: o}}})
	if _, err := y.js.Publish(t.Context(), queue.JobSubject(queue.Normal, "multiplier", "job"), job); err != nil {
		t.Fatal(err)
	}
	if r := y.await("job", queue.Failed); r.Err.Code != queue.CodeWitnessDigest || r.Attempt != 1 {
		t.Errorf("attempt %d: %v", r.Attempt, r.Err)
	}
	if n := len(w.device.begun); n != 0 {
		t.Errorf("%d runs on the device", n)
	}
	if n := w.pool.Stats().InUseBuffers; n != 0 {
		t.Errorf("%d buffers are out", n)
	}
}

package queue

import (
	"context"
	"flag"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// TestMain lets more tests run at a time than there are cores: they wait for
// ack waits and leases most of their time.
func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Value.Set("8"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// ackWait of the tests: the shortest that leases allow.
const ackWait = time.Second

// broker is a NATS server in this process, with its store in a folder of the
// test. It can be stopped and started again on the same port.
type broker struct {
	t    testing.TB
	opts *server.Options
	srv  *server.Server
}

// newBroker starts a broker that nobody has provisioned.
func newBroker(t testing.TB) *broker {
	t.Helper()
	b := &broker{t: t, opts: &server.Options{
		Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	b.start()
	t.Cleanup(func() { b.stop() })
	return b
}

// startBroker starts and provisions a broker.
func startBroker(t testing.TB) *broker {
	t.Helper()
	b := newBroker(t)
	drift, err := Provision(ctx(t), b.js(), Options{AckWait: ackWait, MaxBytes: 256 << 20})
	if err != nil || len(drift) != 0 {
		t.Fatalf("Provision: drift %v, error %v", drift, err)
	}
	return b
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (b *broker) start() {
	b.t.Helper()
	opts := *b.opts
	srv, err := server.NewServer(&opts)
	if err != nil {
		b.t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		b.t.Fatal("broker isn't ready")
	}
	b.srv = srv
}

func (b *broker) stop() {
	b.srv.Shutdown()
	b.srv.WaitForShutdown()
}

// restart stops the broker and starts it again, and waits until nc has noticed
// both.
func (b *broker) restart(nc *nats.Conn) {
	b.t.Helper()
	before := nc.Stats().Reconnects
	b.stop()
	b.start()
	b.eventually("connected again", func() bool { return nc.Stats().Reconnects > before && nc.IsConnected() })
}

// connect opens a connection that lives as long as the test.
func (b *broker) connect(opts ...nats.Option) *nats.Conn {
	b.t.Helper()
	opts = append(ConnectOptions(b.t.Name(), quiet), opts...)
	opts = append(opts, nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1))
	nc, err := nats.Connect(b.srv.ClientURL(), opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	return nc
}

func (b *broker) js() jetstream.JetStream {
	b.t.Helper()
	js, err := jetstream.New(b.connect())
	if err != nil {
		b.t.Fatal(err)
	}
	return js
}

func (b *broker) client() *Client {
	b.t.Helper()
	c, err := NewClient(ctx(b.t), b.connect(), ClientConfig{})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

var quiet = slog.New(slog.DiscardHandler)

// ctx ends with the test, or when it takes far too long.
func ctx(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// handlerFunc is a Handler that is a function.
type handlerFunc func(ctx context.Context, d *Delivery) (*Outcome, error)

func (f handlerFunc) Prove(ctx context.Context, d *Delivery) (*Outcome, error) { return f(ctx, d) }

// proves is a handler that reads all witnesses and answers at once.
func proves(ctx context.Context, d *Delivery) (*Outcome, error) {
	o := &Outcome{Device: "test"}
	for i, w := range d.Job.Witnesses {
		d.Progress(PhaseWitness, 0)
		if w.Inputs == nil {
			r, err := d.Open(ctx, i)
			if err != nil {
				return nil, err
			}
			if _, err := io.Copy(io.Discard, r); err != nil {
				return nil, err
			}
			if err := r.Close(); err != nil {
				return nil, err
			}
		}
		o.Proofs = append(o.Proofs, Proof{Proof: make([]byte, 128), Public: make([]byte, 64)})
	}
	d.Progress(PhaseDevice, 0)
	return o, nil
}

// running is a worker that runs.
type running struct {
	*Worker
	stop func() error // ends Run's context and waits for Run
}

// startWorker runs a worker until the test ends.
func (b *broker) startWorker(h handlerFunc, change ...func(*WorkerConfig)) *running {
	b.t.Helper()
	return b.startWorkerOn(b.connect(), h, change...)
}

func (b *broker) startWorkerOn(nc *nats.Conn, h handlerFunc, change ...func(*WorkerConfig)) *running {
	b.t.Helper()
	return b.startWorkerAs(nc, func(w *Worker) { w.pullWait = 200 * time.Millisecond }, h, change...)
}

// startWorkerAs runs a worker whose inner times are changed.
func (b *broker) startWorkerAs(nc *nats.Conn, times func(*Worker), h handlerFunc, change ...func(*WorkerConfig)) *running {
	b.t.Helper()
	cfg := WorkerConfig{Handler: h, Log: quiet, RetryDelay: 50 * time.Millisecond}
	for _, c := range change {
		c(&cfg)
	}
	w, err := NewWorker(ctx(b.t), nc, cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	times(w)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	stop := sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	b.t.Cleanup(func() { _ = stop() })
	return &running{w, stop}
}

// digestHex is some key's digest.
const digestHex = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// request is a job that any test may submit.
func request(id string) Request {
	return Request{ID: id, Circuit: "merkle@" + digestHex, Witnesses: []Source{Wtns([]byte("witness of " + id))}}
}

func (b *broker) submit(c *Client, r Request) *Submission {
	b.t.Helper()
	s, err := c.Submit(ctx(b.t), r)
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// await waits for a job's result and checks its state.
func (b *broker) await(c *Client, id string, want State) *Result {
	b.t.Helper()
	r, err := c.Wait(ctx(b.t), id)
	if err != nil {
		b.t.Fatal(err)
	}
	if r.State != want {
		b.t.Fatalf("job %s: state %s (%v), want %s", id, r.State, r.Err, want)
	}
	return r
}

// awaitEmpty waits until no job is left on the queue: an ack follows its
// result.
func (b *broker) awaitEmpty(js jetstream.JetStream) {
	b.t.Helper()
	s, err := js.Stream(ctx(b.t), StreamJobs)
	if err != nil {
		b.t.Fatal(err)
	}
	b.eventually("the queue is empty", func() bool {
		info, err := s.Info(ctx(b.t))
		return err == nil && info.State.Msgs == 0
	})
}

// eventually polls a condition that no event announces.
func (b *broker) eventually(what string, ok func() bool) {
	b.t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			b.t.Fatalf("timeout: %s", what)
		}
	}
}

// deadLetters reads the dead letters of a job.
func (b *broker) deadLetters(js jetstream.JetStream, id string) []*jetstream.RawStreamMsg {
	b.t.Helper()
	s, err := js.Stream(ctx(b.t), StreamDead)
	if err != nil {
		b.t.Fatal(err)
	}
	info, err := s.Info(ctx(b.t))
	if err != nil {
		b.t.Fatal(err)
	}
	var letters []*jetstream.RawStreamMsg
	for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
		if m, err := s.GetMsg(ctx(b.t), seq); err == nil && m.Subject == DeadSubject(id) {
			letters = append(letters, m)
		}
	}
	return letters
}

// next reads the next reply of the wanted kinds, leaving out others.
func next(t *testing.T, in *Inbox, kinds ...Kind) *Reply {
	t.Helper()
	for {
		r, err := in.Next(ctx(t))
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains(kinds, r.Kind) {
			return r
		}
	}
}

// steal takes a job's lease from its holder, for two seconds, as another
// worker does after the holder was frozen.
func (b *broker) steal(c *Client, id string) {
	b.t.Helper()
	thief := &lease{s: c.store, subject: "$KV." + BucketState + "." + leaseKey(id), holder: "thief x", ttl: 2 * time.Second}
	for {
		last, err := lastMessage(ctx(b.t), c.nc, stateStream, thief.subject)
		if err != nil {
			b.t.Fatal(err)
		}
		thief.seq = last.Sequence
		if thief.write(ctx(b.t)) == nil { // else a heartbeat came between
			return
		}
	}
}

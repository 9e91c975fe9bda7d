package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/queue"
)

// The benchmarks prove jobs of one witness each of a circuit of the size of semaphore-20, on the device of PINION_DEVICE and
// PINION_CUDA_LIB, and tell proofs/s: the bare device, the engine on it, and the service with its broker. What one lacks to the one
// before is that floor's. An operation is a job: -benchtime 2000x.

// load is the circuit of the benchmarks, and a witness of it.
type load struct {
	config *Config
	wtns   []byte
}

func newLoad(b *testing.B) *load {
	b.Helper()
	dir := b.TempDir()
	environ := []string{"PINION_NATS=embedded", "PINION_LISTEN=127.0.0.1:0", "PINION_HTTP=off", "PINION_DATA=" + dir, "PINION_WORKER=bench",
		"PINION_ALLOW_FORGEABLE=made", "PINION_PRELOAD=made"}
	for _, name := range []string{"PINION_DEVICE", "PINION_CUDA_LIB", "PINION_JOBS"} {
		if value, set := os.LookupEnv(name); set {
			environ = append(environ, name+"="+value)
		}
	}
	config, err := LoadConfig(environ)
	if err != nil {
		b.Fatal(err)
	}
	synthetic := circuit.Synthetic{Curve: groth16.BN254, Rows: 6436, Public: 4, Zeros: 0.05, Ones: 0.05}
	constraints, words, err := synthetic.Make(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	pk, vk, err := groth16.Setup(b.Context(), constraints, groth16.OddCoset)
	if err != nil {
		b.Fatal(err)
	}
	zkey := filepath.Join(dir, "made.zkey")
	if err := circuit.WriteZkey(b.Context(), zkey, pk, vk, groth16.Multiples, nil); err != nil {
		b.Fatal(err)
	}
	catalogue, err := config.OpenCatalogue()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := catalogue.Add(b.Context(), "made", circuit.Files{Zkey: zkey}, nil); err != nil {
		b.Fatal(err)
	}
	var wtns bytes.Buffer
	if err := circuit.EncodeWtns(&wtns, groth16.BN254, words); err != nil {
		b.Fatal(err)
	}
	return &load{config: config, wtns: wtns.Bytes()}
}

func (l *load) prover(b *testing.B) *Prover {
	b.Helper()
	p, err := l.config.NewProver(slog.New(slog.DiscardHandler), noop.Tracer{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := p.Close(context.WithoutCancel(b.Context())); err != nil {
			b.Error(err)
		}
	})
	return p
}

// report tells the rate, and how many witnesses the device computed at once.
func report(b *testing.B, jobs int, took time.Duration, before, after gpu.Stats) {
	b.Helper()
	b.ReportMetric(float64(jobs)/took.Seconds(), "proofs/s")
	b.ReportMetric(float64(after.Inputs-before.Inputs)/float64(max(1, after.Tasks-before.Tasks)), "witnesses/task")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkDevice gives the device whole batches, two at a time, from buffers that are ready.
func BenchmarkDevice(b *testing.B) {
	l := newLoad(b)
	p := l.prover(b)
	c, err := p.Catalogue.Open(circuit.Ref{Name: "made"})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	footprint, err := p.executor.Footprint(c.Key())
	if err != nil {
		b.Fatal(err)
	}
	key, err := p.executor.Load(b.Context(), c.Key())
	if err != nil {
		b.Fatal(err)
	}
	task := &gpu.Task{Key: key}
	for range footprint.Batch {
		task.Inputs = append(task.Inputs, l.input(b, p, c))
	}
	b.ResetTimer()
	before, start := p.executor.Stats(), time.Now()
	tasks := (b.N + footprint.Batch - 1) / footprint.Batch
	flying := make(chan *gpu.Ticket, 1)
	go func() {
		defer close(flying)
		for range tasks {
			ticket, err := p.executor.Submit(b.Context(), task)
			if err != nil {
				b.Error(err)
				return
			}
			flying <- ticket
		}
	}()
	for ticket := range flying {
		if _, _, err := ticket.Result(); err != nil {
			b.Error(err)
		}
	}
	report(b, tasks*footprint.Batch, time.Since(start), before, p.executor.Stats())
}

// input is the witness in a buffer of the pool, and synthesized where the device doesn't.
func (l *load) input(b *testing.B, p *Prover, c *circuit.Circuit) gpu.Input {
	b.Helper()
	buffer := func(n int) []byte {
		r, err := p.pool.Reserve(b.Context(), 0, n)
		if err != nil {
			b.Fatal(err)
		}
		defer r.Close()
		buf, err := p.pool.Get(r, n)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(buf.Release)
		return buf.Bytes()
	}
	in := gpu.Input{Witness: buffer(c.Info.Vars * groth16.ScalarSize)}
	if err := circuit.DecodeWtns(in.Witness, bytes.NewReader(l.wtns), int64(len(l.wtns)), c.Info.Shape()); err != nil {
		b.Fatal(err)
	}
	if p.executor.Info().Synthesis == gpu.OnHost {
		in.A, in.B = buffer(c.Info.Domain*groth16.ScalarSize), buffer(c.Info.Domain*groth16.ScalarSize)
		if err := c.Key().Synthesize(b.Context(), in.Witness, in.A, in.B); err != nil {
			b.Fatal(err)
		}
	}
	return in
}

// BenchmarkEngine has as many jobs in hand as the service would, each with its own witness to read and its own proof to check.
func BenchmarkEngine(b *testing.B) {
	l := newLoad(b)
	p := l.prover(b)
	if err := p.Engine.Preload(b.Context(), circuit.Ref{Name: "made"}); err != nil {
		b.Fatal(err)
	}
	req := engine.Request{Circuit: circuit.Ref{Name: "made"}, Witnesses: []engine.Witness{{
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(l.wtns)), nil },
		Size: int64(len(l.wtns)),
	}}}
	info, err := p.Catalogue.Info(req.Circuit)
	if err != nil {
		b.Fatal(err)
	}
	hands := min(p.jobs, (p.executor.Info().Overlap+1)*p.Engine.Batch(info.Ref()))
	prove := func(jobs int) {
		var working sync.WaitGroup
		var left atomic.Int64
		left.Store(int64(jobs))
		for range hands {
			working.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := p.Engine.Prove(b.Context(), req); err != nil {
						b.Error(err)
					}
				}
			})
		}
		working.Wait()
	}
	prove(hands) // makes the buffers
	b.ResetTimer()
	before, start := p.executor.Stats(), time.Now()
	prove(b.N)
	report(b, b.N, time.Since(start), before, p.executor.Stats())
}

// BenchmarkService has the jobs wait in the queue while the fleet is paused, and takes the time from the end of the pause to the last result.
func BenchmarkService(b *testing.B) {
	l := newLoad(b)
	s, err := Start(b.Context(), l.config, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	client, stop := l.producer(b, s)
	defer stop()
	inbox, err := client.NewInbox()
	if err != nil {
		b.Fatal(err)
	}
	ctx, end := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	l.submit(b, client, inbox, "warm", s.prover.jobs) // makes the buffers
	results(b, inbox, s.prover.jobs)
	if err := client.PauseFleet(b.Context(), time.Hour); err != nil {
		b.Fatal(err)
	}
	l.submit(b, client, inbox, "job", b.N)
	if err := client.ResumeFleet(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	before, start := s.prover.executor.Stats(), time.Now()
	results(b, inbox, b.N)
	took := time.Since(start)
	b.StopTimer()
	report(b, b.N, took, before, s.prover.executor.Stats())
	end()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}

// results waits for that many.
func results(b *testing.B, inbox *queue.Inbox, n int) {
	b.Helper()
	for n > 0 {
		reply, err := inbox.Next(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		switch reply.Kind {
		case queue.KindResult:
			n--
		case queue.KindError:
			b.Fatal(reply.Result.Err)
		default: // progress and spans
		}
	}
}

// producer is a client with a connection of its own.
func (l *load) producer(b *testing.B, s *Service) (*queue.Client, func()) {
	b.Helper()
	config := *l.config
	config.NATS = s.URL()
	nc, err := config.Connect("bench", slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	client, err := NewClient(b.Context(), nc)
	if err != nil {
		b.Fatal(err)
	}
	return client, nc.Close
}

func (l *load) submit(b *testing.B, client *queue.Client, inbox *queue.Inbox, name string, jobs int) {
	b.Helper()
	var producers sync.WaitGroup
	var next atomic.Int64
	var mu sync.Mutex
	var failed error
	for range 16 {
		producers.Go(func() {
			for i := next.Add(1); i <= int64(jobs); i = next.Add(1) {
				_, err := client.Submit(b.Context(), queue.Request{ID: fmt.Sprint(name, "-", i), Circuit: "made",
					Witnesses: []queue.Source{queue.Wtns(l.wtns)}, Reply: inbox.Subject()})
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	producers.Wait()
	if failed != nil {
		b.Fatal(failed)
	}
}

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The benchmarks have a device that takes no time, and the broker in this
// process: what they measure is the queue's own.

// benchSizes are those of a witness: next to nothing, and that of a circuit of
// some thousand constraints.
var benchSizes = []int{32, 206_000}

// benchJobs is how many jobs wait.
const benchJobs = 1000

// BenchmarkBacklog has jobs wait before the worker starts; an operation is
// 1000 jobs, from the worker's start to the last result.
func BenchmarkBacklog(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size, "B"), func(b *testing.B) {
			br := startBroker(b)
			c := br.client()
			witness := make([]byte, size)
			var took time.Duration
			for n := range b.N {
				backlog(br, c, fmt.Sprint("r", n), witness, benchJobs)
				var left atomic.Int64
				left.Store(benchJobs)
				done := make(chan struct{})
				sub, err := c.nc.Subscribe("pinion.done.>", func(*nats.Msg) {
					if left.Add(-1) == 0 {
						close(done)
					}
				})
				if err != nil {
					b.Fatal(err)
				}
				if err := c.nc.Flush(); err != nil {
					b.Fatal(err)
				}
				start := time.Now()
				w := br.startWorker(proves, func(cfg *WorkerConfig) { cfg.Jobs = 192 })
				<-done
				took += time.Since(start)
				if err := sub.Unsubscribe(); err != nil {
					b.Fatal(err)
				}
				if err := w.stop(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(benchJobs*b.N)/took.Seconds(), "jobs/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func backlog(br *broker, c *Client, round string, witness []byte, jobs int) {
	br.t.Helper()
	var producers sync.WaitGroup
	var next atomic.Int64
	for range 16 {
		producers.Go(func() {
			for i := next.Add(1); i <= int64(jobs); i = next.Add(1) {
				r := request(fmt.Sprint(round, "-", i))
				r.Witnesses = []Source{Wtns(witness)}
				if _, err := c.Submit(context.WithoutCancel(br.t.Context()), r); err != nil {
					br.t.Error(err)
				}
			}
		})
	}
	producers.Wait()
}

// BenchmarkBroker is what the broker alone gives: the jobs of BenchmarkBacklog
// are pulled, as many at a time as by a worker, and acknowledged.
func BenchmarkBroker(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size, "B"), func(b *testing.B) {
			br := startBroker(b)
			c := br.client()
			consumer, err := c.js.Consumer(b.Context(), StreamJobs, Normal.Consumer())
			if err != nil {
				b.Fatal(err)
			}
			var took time.Duration
			for n := range b.N {
				backlog(br, c, fmt.Sprint("r", n), make([]byte, size), benchJobs)
				start := time.Now()
				var left atomic.Int64
				left.Store(benchJobs)
				var pulls sync.WaitGroup
				for range lookAhead {
					pulls.Go(func() {
						for left.Add(-1) >= 0 {
							msg, err := consumer.Next()
							if err == nil {
								err = msg.DoubleAck(b.Context())
							}
							if err != nil {
								b.Error(err)
							}
						}
					})
				}
				pulls.Wait()
				took += time.Since(start)
			}
			b.ReportMetric(float64(benchJobs*b.N)/took.Seconds(), "jobs/s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// BenchmarkAlone submits one job after the other to an idle worker, and tells
// the time from before the submission to the result on the reply subject.
func BenchmarkAlone(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprint(size, "B"), func(b *testing.B) {
			br := startBroker(b)
			c := br.client()
			in, err := c.NewInbox()
			if err != nil {
				b.Fatal(err)
			}
			br.startWorkerAs(br.connect(), func(*Worker) {}, proves)
			witness := make([]byte, size)
			took := make([]time.Duration, 0, b.N)
			for i := range b.N {
				r := request(fmt.Sprint("alone-", i))
				r.Witnesses, r.Reply = []Source{Wtns(witness)}, in.Subject()
				start := time.Now()
				if _, err := c.Submit(b.Context(), r); err != nil {
					b.Fatal(err)
				}
				for kind := KindProgress; kind != KindResult; {
					reply, err := in.Next(b.Context())
					if err != nil {
						b.Fatal(err)
					}
					kind = reply.Kind
				}
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2])/1e6, "ms-p50")
			b.ReportMetric(float64(took[len(took)*99/100])/1e6, "ms-p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}

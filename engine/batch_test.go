package engine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// heldUp has jobs come while the device is busy, and lets it go on once all wait for it.
func (r *rig) heldUp(gate chan struct{}, jobs int, prove func(i int)) {
	r.t.Helper()
	var all sync.WaitGroup
	all.Go(func() { r.prove(multiply(r.t, 2, 3)) })
	<-r.device.begun
	for i := range jobs {
		all.Go(func() { prove(i) })
	}
	for deadline := time.Now().Add(time.Minute); r.executor.Queued() < jobs; runtime.Gosched() {
		if time.Now().After(deadline) {
			r.t.Errorf("%d jobs wait for the device, expected %d", r.executor.Queued(), jobs)
			break
		}
	}
	close(gate)
	all.Wait()
}

// Jobs of one witness each that wait for the device become few tasks. Each job has its own proofs and its own spans.
func TestJobsAreBatched(t *testing.T) {
	const jobs, batch = 64, 16
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	gate, begun := make(chan struct{}), make(chan struct{}, jobs+1)
	r := newRig(t, withQueue(jobs), withDevice(func(d *device) { d.batch, d.gate, d.begun = batch, gate, begun }),
		withConfig(func(c *Config) { c.Tracer = provider.Tracer("test") }))
	r.heldUp(gate, jobs, func(i int) {
		out := r.prove(multiply(t, uint64(i)+2, 5))
		if out == nil || publicJSON(t, out.Proofs[0].Public) != fmt.Sprintf(`["%d"]`, (i+2)*5) {
			t.Errorf("job %d has the public signals of another", i)
		}
	})
	if tasks := len(begun); tasks != jobs/batch {
		t.Errorf("%d tasks after the first, expected %d", tasks, jobs/batch)
	}
	batched := 0
	for _, s := range spans.Ended() {
		for _, a := range s.Attributes() {
			if a.Key == "pinion.batch" && a.Value.AsInt64() == batch {
				batched++
			}
		}
	}
	if batched != jobs {
		t.Errorf("%d spans tell of a batch of %d, expected %d", batched, batch, jobs)
	}
	r.idle()
}

// One job's bad input costs its neighbours in the batch nothing but time.
func TestBadNeighbour(t *testing.T) {
	const jobs, bad = 8, 3
	isBad := func(in gpu.Input) bool {
		return binary.LittleEndian.Uint64(in.Witness[groth16.ScalarSize:]) == (bad+2)*5
	}
	gate, begun := make(chan struct{}), make(chan struct{}, 10*jobs)
	r := newRig(t, withQueue(jobs), withDevice(func(d *device) { d.batch, d.gate, d.begun, d.bad = jobs, gate, begun, isBad }))
	r.heldUp(gate, jobs, func(i int) {
		req := multiply(t, uint64(i)+2, 5)
		if i == bad {
			err := r.fails(context.Background(), req, CodeDeviceFault, true)
			expectText(t, err, "device_fault: input 0: refused")
		} else if out := r.prove(req); out != nil && out.Attempts != 1 {
			t.Errorf("%d attempts of job %d, expected 1", out.Attempts, i)
		}
	})
	if got := r.Stats(); got.Proofs != jobs || got.DeviceFaults != 1 || got.Again != 0 || r.Healthy() != nil {
		t.Errorf("counted %+v, health %v; expected all proofs but one", got, r.Healthy())
	}
	r.idle()
}

// P3: a device that finds less memory than it has is well: the job may come again, and so may that which asked whose fault it was.
func TestP3OutOfDeviceMemory(t *testing.T) {
	full := func(*groth16.ProvingKey) error { return gpu.ErrMemory }
	for name, c := range map[string]struct {
		device  func(*device)
		request func(*testing.T) Request
	}{
		"load":  {func(d *device) { d.load = full }, func(t *testing.T) Request { return multiply(t, 3, 5) }},
		"begin": {func(d *device) { d.begin = full }, func(t *testing.T) Request { return multiply(t, 3, 5) }},
		"end":   {func(d *device) { d.end = full }, func(t *testing.T) Request { return multiply(t, 3, 5) }},
		"known circuit": {func(d *device) {
			d.load = func(pk *groth16.ProvingKey) error {
				if isKnown(pk) {
					return gpu.ErrMemory
				}
				return nil
			}
		}, func(t *testing.T) Request {
			return Request{Circuit: named("plain-bn128"), Witnesses: []Witness{product(t, groth16.BN254, 3, 5, 16)}}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDevice(c.device))
			if err := r.fails(context.Background(), c.request(t), CodeMemory, true); !errors.Is(err, gpu.ErrMemory) {
				t.Error(err)
			}
			if got := r.Stats(); got.DeviceFaults != 0 || r.Healthy() != nil {
				t.Errorf("the device is blamed: %+v, %v", got, r.Healthy())
			}
			r.idle()
			r.device.set(func(d *device) { d.load, d.begin, d.end = nil, nil, nil })
			r.prove(multiply(t, 3, 5))
		})
	}
}

// A circuit that finds the device full, although the books have room, makes those that lie idle leave.
func TestIdleCircuitsLeaveAFullDevice(t *testing.T) {
	r := newRig(t, withDevice(func(d *device) { d.info.Memory = 1 << 30 }))
	r.prove(multiply(t, 3, 5))
	r.device.set(func(d *device) { d.load = func(*groth16.ProvingKey) error { return gpu.ErrMemory } })
	r.fails(context.Background(), example(t, "commit", "bn128"), CodeMemory, true)
	r.circuits.unloads.Wait()
	if got := r.Stats(); got.Circuits != 0 || got.Evictions != 1 {
		t.Errorf("counted %+v, expected the idle circuit to be gone", got)
	}
	r.device.set(func(d *device) { d.load = nil })
	r.prove(example(t, "commit", "bn128"))
}

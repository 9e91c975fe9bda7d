package queue

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	collectorpb "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// SpanCollector gathers the spans of each job for its reply subject. Register
// it with the tracer provider beside the exporter that sends all spans to a
// collector, and give it to the [Worker]:
//
//	spans := queue.NewSpanCollector()
//	tp := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans), sdktrace.WithBatcher(otlp))
//
// A job's spans are its process span and all that start with a context that
// descends from its own, as far as they are sampled and end before it does.
// It is safe for concurrent use.
type SpanCollector struct {
	mu    sync.Mutex
	spans map[spanKey]*spanBundle // of spans that have started and not ended
}

type spanKey struct {
	trace trace.TraceID
	span  trace.SpanID
}

// maxSpans bounds what one job's message holds.
const maxSpans = 512

// spanBundle is the spans of one job; the collector's mutex guards it.
type spanBundle struct {
	open   map[spanKey]struct{}
	ended  []sdktrace.ReadOnlySpan
	closed bool
}

type bundleKey struct{}

// NewSpanCollector returns an empty collector.
func NewSpanCollector() *SpanCollector {
	return &SpanCollector{spans: make(map[spanKey]*spanBundle)}
}

// begin returns a context whose spans are gathered until end.
func (c *SpanCollector) begin(ctx context.Context) (context.Context, *spanBundle) {
	b := &spanBundle{open: make(map[spanKey]struct{})}
	return context.WithValue(ctx, bundleKey{}, b), b
}

// end returns the bundle's spans as an OTLP ExportTraceServiceRequest; nil if
// there are none.
func (c *SpanCollector) end(ctx context.Context, b *spanBundle) ([]byte, error) {
	return encodeSpans(ctx, c.drop(b))
}

// drop ends the gathering.
func (c *SpanCollector) drop(b *spanBundle) []sdktrace.ReadOnlySpan {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range b.open {
		delete(c.spans, key)
	}
	ended := b.ended
	b.closed, b.ended = true, nil
	return ended
}

// OnStart implements sdktrace.SpanProcessor.
func (c *SpanCollector) OnStart(ctx context.Context, s sdktrace.ReadWriteSpan) {
	b, ok := ctx.Value(bundleKey{}).(*spanBundle)
	if !ok {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !b.closed {
		c.spans[keyOf(s)] = b
		b.open[keyOf(s)] = struct{}{}
	}
}

// OnEnd implements sdktrace.SpanProcessor.
func (c *SpanCollector) OnEnd(s sdktrace.ReadOnlySpan) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b, ok := c.spans[keyOf(s)]
	if !ok {
		return
	}
	delete(c.spans, keyOf(s))
	delete(b.open, keyOf(s))
	if len(b.ended) < maxSpans {
		b.ended = append(b.ended, s)
	}
}

func keyOf(s sdktrace.ReadOnlySpan) spanKey {
	return spanKey{s.SpanContext().TraceID(), s.SpanContext().SpanID()}
}

// ForceFlush implements sdktrace.SpanProcessor; there is nothing to flush.
func (c *SpanCollector) ForceFlush(context.Context) error { return nil }

// Shutdown implements sdktrace.SpanProcessor.
func (c *SpanCollector) Shutdown(context.Context) error { return nil }

// encodeSpans lets otlptrace, which alone knows how, transform the spans, and
// keeps what it would send.
func encodeSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) ([]byte, error) {
	if len(spans) == 0 {
		return nil, nil
	}
	k := &spanKeeper{}
	if err := otlptrace.NewUnstarted(k).ExportSpans(ctx, spans); err != nil {
		return nil, fmt.Errorf("queue: encode spans: %w", err)
	}
	data, err := proto.Marshal(&collectorpb.ExportTraceServiceRequest{ResourceSpans: k.spans})
	if err != nil {
		return nil, fmt.Errorf("queue: encode spans: %w", err)
	}
	return data, nil
}

// spanKeeper is an otlptrace.Client that keeps one upload.
type spanKeeper struct{ spans []*tracepb.ResourceSpans }

func (k *spanKeeper) Start(context.Context) error { return nil }
func (k *spanKeeper) Stop(context.Context) error  { return nil }
func (k *spanKeeper) UploadTraces(_ context.Context, spans []*tracepb.ResourceSpans) error {
	k.spans = spans
	return nil
}

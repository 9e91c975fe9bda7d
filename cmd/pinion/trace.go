package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	oteltrace "go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spanKeeper keeps the span that its tracer ended last, as far as a tree shows it. It is for one goroutine.
type spanKeeper struct{ last *trace.Span }

func (k *spanKeeper) tracer() oteltrace.Tracer {
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(k)).Tracer("github.com/pinion-zk/pinion/cmd/pinion")
}

// ExportSpans implements sdktrace.SpanExporter.
func (k *spanKeeper) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	for _, s := range spans {
		id := s.SpanContext().SpanID()
		k.last = &trace.Span{
			SpanId: id[:], Name: s.Name(),
			StartTimeUnixNano: uint64(s.StartTime().UnixNano()), EndTimeUnixNano: uint64(s.EndTime().UnixNano()),
		}
	}
	return nil
}

// Shutdown implements sdktrace.SpanExporter.
func (k *spanKeeper) Shutdown(context.Context) error { return nil }

// printTrace draws spans, and those of OTLP messages (ExportTraceServiceRequest), as a tree with each span's duration.
func printTrace(w io.Writer, messages [][]byte, spans ...*trace.Span) error {
	decoded, err := decodeSpans(messages)
	if err != nil {
		return err
	}
	spans = append(spans, decoded...)
	known := map[string]bool{}
	for _, s := range spans {
		known[string(s.GetSpanId())] = true
	}
	children := map[string][]*trace.Span{}
	for _, s := range spans {
		parent := string(s.GetParentSpanId())
		if !known[parent] {
			parent = "" // a root, or the child of a span that others keep: the producer's
		}
		children[parent] = append(children[parent], s)
	}
	for _, siblings := range children {
		slices.SortFunc(siblings, func(a, b *trace.Span) int { return cmp.Compare(a.GetStartTimeUnixNano(), b.GetStartTimeUnixNano()) })
	}
	t := tree{w: w, children: children, left: len(spans)}
	for _, root := range children[""] {
		t.print(root, "", "", "")
	}
	return nil
}

func decodeSpans(messages [][]byte) ([]*trace.Span, error) {
	var spans []*trace.Span
	for _, m := range messages {
		var request collector.ExportTraceServiceRequest
		if err := proto.Unmarshal(m, &request); err != nil {
			return nil, fmt.Errorf("spans: %w", err)
		}
		for _, r := range request.GetResourceSpans() {
			for _, s := range r.GetScopeSpans() {
				spans = append(spans, s.GetSpans()...)
			}
		}
	}
	return spans, nil
}

type tree struct {
	w        io.Writer
	children map[string][]*trace.Span
	left     int // spans to print: ends the walk, whatever loops foreign spans may form
}

// nameWidth is the column of the durations.
const nameWidth = 40

// print draws one span and all below: indent is what stands before its children's branches.
func (t *tree) print(s *trace.Span, indent, branch, below string) {
	if t.left--; t.left < 0 {
		return
	}
	name := indent + branch + s.GetName()
	took := time.Duration(s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano())
	pad := max(1, nameWidth-len([]rune(name)))
	fmt.Fprintf(t.w, "%s%s%8.2f ms\n", name, strings.Repeat(" ", pad), took.Seconds()*1e3)
	children := t.children[string(s.GetSpanId())]
	for i, c := range children {
		if i == len(children)-1 {
			t.print(c, indent+below, "└─ ", "   ")
		} else {
			t.print(c, indent+below, "├─ ", "│  ")
		}
	}
}

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// printTrace draws the spans of OTLP messages (ExportTraceServiceRequest) as a tree with each span's duration.
func printTrace(w io.Writer, messages [][]byte) error {
	spans, err := decodeSpans(messages)
	if err != nil {
		return err
	}
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

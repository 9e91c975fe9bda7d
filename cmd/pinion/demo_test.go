package main

import (
	"regexp"
	"strings"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// The demo works, and works again at once.
func TestDemo(t *testing.T) {
	t.Parallel()
	for range 2 {
		out := must(t, pinion(t, nil, "demo", "--jobs", "20"))
		for _, want := range []string{
			`^20 jobs done, 20 proofs verified`, `merkle-bn128 +5 `, `commit-bls12381 +5 `, `\nsend pinion.job.normal +\d+\.\d\d ms\n└─ process pinion.job.normal +\d+\.\d\d ms\n   ├─ admit `, `   └─ check `,
		} {
			if !regexp.MustCompile(want).MatchString(out) {
				t.Errorf("no %s in:\n%s", want, out)
			}
		}
	}
}

func TestPrintTrace(t *testing.T) {
	span := func(id, parent, name string, start, end uint64) *trace.Span {
		return &trace.Span{SpanId: []byte(id), ParentSpanId: []byte(parent), Name: name, StartTimeUnixNano: start * 1e6, EndTimeUnixNano: end * 1e6}
	}
	message := func(spans ...*trace.Span) []byte {
		data, err := proto.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: []*trace.ResourceSpans{{ScopeSpans: []*trace.ScopeSpans{{Spans: spans}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	var b strings.Builder
	err := printTrace(&b, [][]byte{
		message(span("c", "a", "device", 5, 9), span("b", "a", "witness", 1, 4), span("d", "b", "read", 1, 2)),
		message(span("a", "of a producer", "process", 0, 10)),
		message(span("e", "f", "loop", 0, 1), span("f", "e", "loop", 0, 1)), // from hostile hands: must end
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "process                                    10.00 ms\n" +
		"├─ witness                                  3.00 ms\n" +
		"│  └─ read                                  1.00 ms\n" +
		"└─ device                                   4.00 ms\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	if err := printTrace(&b, [][]byte{{0xff}}); err == nil {
		t.Error("no error for bytes that are no message")
	}
}

func TestMedian(t *testing.T) {
	for _, test := range []struct {
		values []float64
		want   float64
	}{{[]float64{3}, 3}, {[]float64{4, 1}, 2.5}, {[]float64{9, 1, 5}, 5}} {
		if got := median(test.values); got != test.want {
			t.Errorf("%v: %v", test.values, got)
		}
	}
}

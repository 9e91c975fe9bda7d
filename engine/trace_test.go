package engine

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/pinion-zk/pinion/groth16"
)

func TestSpansAndEvents(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
	r := newRig(t, withSynthesis("host"), withConfig(func(c *Config) { c.Tracer = provider.Tracer("test") }))

	ctx, parent := provider.Tracer("test").Start(context.Background(), "process")
	req := multiply(t, 641, 6700417)
	var events []Phase
	req.Observe = func(e Event) { events = append(events, e.Phase) }
	out, err := r.Prove(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	parent.End()

	want := []Phase{PhaseAdmit, PhaseWitness, PhaseSynthesis, PhaseWait, PhaseDevice, PhaseCheck}
	if !slices.Equal(events, want) {
		t.Errorf("events %v, expected %v", events, want)
	}
	var names []Phase
	var load, admit sdktrace.ReadOnlySpan
	for _, s := range spans.Ended() {
		if s.Name() == "device" {
			for _, key := range []attribute.Key{"pinion.batch", "pinion.msm_us", "pinion.sort_us", "pinion.overlapped_us", "pinion.h_us"} {
				if !slices.ContainsFunc(s.Attributes(), func(a attribute.KeyValue) bool { return a.Key == key }) {
					t.Errorf("the device's span doesn't tell %s", key)
				}
			}
		}
		if s.Name() == "process" {
			continue
		}
		if s.Name() == "load" {
			load = s
			continue
		}
		if s.Name() == "admit" {
			admit = s
		}
		names = append(names, Phase(s.Name()))
		if s.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("span %s isn't a child of the job's", s.Name())
		}
		for _, a := range s.Attributes() {
			if a.Key == "pinion.circuit" && a.Value.AsString() != out.Circuit.String() && s.Name() != "admit" {
				t.Errorf("span %s is of circuit %s, expected %s", s.Name(), a.Value.AsString(), out.Circuit)
			}
			if v := a.Value.String(); strings.Contains(v, "6700417") || strings.Contains(v, "4294967297") {
				t.Errorf("span %s tells a value of the witness in %s", s.Name(), a.Key)
			}
		}
	}
	if !slices.Equal(names, want) {
		t.Errorf("spans %v, expected %v", names, want)
	}

	if load == nil || load.Parent().SpanID() != admit.SpanContext().SpanID() {
		t.Error("the circuit's load isn't a part of admission")
	}

	ms := out.Phases.Milliseconds()
	for _, key := range []string{"witness", "synthesis", "wait", "device", "check", "total"} {
		if v, ok := ms[key]; !ok || v < 0 {
			t.Errorf("phase %s took %v ms", key, v)
		}
	}
	if out.Device != r.device.Info().Name || out.Synthesis != "host" || out.Attempts != 1 || out.Curve != groth16.BN254 {
		t.Errorf("outcome %+v", out)
	}
}

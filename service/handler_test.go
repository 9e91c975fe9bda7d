package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
	"github.com/pinion-zk/pinion/queue"
)

// fakeEngine answers with what it is given.
type fakeEngine struct {
	request engine.Request
	outcome *engine.Outcome
	err     error
}

func (f *fakeEngine) Prove(_ context.Context, req engine.Request) (*engine.Outcome, error) {
	f.request = req
	return f.outcome, f.err
}

const (
	digestA = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

func newHandler(t *testing.T, e proves) (*handler, *metric.ManualReader) {
	t.Helper()
	reader := metric.NewManualReader()
	meter := metric.NewMeterProvider(metric.WithReader(reader)).Meter("test")
	jobs, err := meter.Int64Counter("jobs")
	if err != nil {
		t.Fatal(err)
	}
	phases, err := meter.Float64Histogram("phases")
	if err != nil {
		t.Fatal(err)
	}
	return &handler{
		engine:    e,
		metrics:   &metrics{jobs: jobs, phases: phases},
		fetch:     func(context.Context, circuit.Ref) error { return queue.ErrUnknownCircuit },
		log:       slog.New(slog.DiscardHandler),
		weigh:     func(circuit.Ref, int) (func(), bool) { return func() {}, true },
		elsewhere: func(_ context.Context, ref circuit.Ref) bool { return ref.Digest.String() == digestB },
	}, reader
}

func delivery(ref string) *queue.Delivery {
	return &queue.Delivery{Job: &queue.Job{ID: "j", Circuit: ref, Witnesses: []queue.Witness{{Inputs: []byte(`{"a":1}`)}, {Wtns: []byte("wtns")}}}, Attempt: 1}
}

func TestRequest(t *testing.T) {
	e := &fakeEngine{err: errors.New("stop")}
	h, _ := newHandler(t, e)
	if _, err := h.Prove(t.Context(), delivery("merkle@"+digestA)); err == nil {
		t.Fatal("no error")
	}
	req := e.request
	if req.Circuit.String() != "merkle@"+digestA || len(req.Witnesses) != 2 {
		t.Fatalf("%+v", req)
	}
	if string(req.Witnesses[0].Inputs) != `{"a":1}` || req.Witnesses[0].Open != nil {
		t.Errorf("inputs: %+v", req.Witnesses[0])
	}
	if w := req.Witnesses[1]; w.Inputs != nil || w.Open == nil || w.Size != 4 {
		t.Errorf("wtns: %+v", w)
	}
}

// What is too much for this worker is handed on before the engine hears of it.
func TestTooMuchIsHandedOn(t *testing.T) {
	e := &fakeEngine{}
	h, _ := newHandler(t, e)
	h.weigh = func(circuit.Ref, int) (func(), bool) { return nil, false }
	_, err := h.Prove(t.Context(), delivery("merkle@"+digestA))
	if d, ok := errors.AsType[*queue.Defer](err); !ok || d.After != handOn || e.request.Witnesses != nil {
		t.Errorf("error %v, engine asked for %d proofs", err, len(e.request.Witnesses))
	}
}

func TestOutcome(t *testing.T) {
	e := &fakeEngine{outcome: &engine.Outcome{Device: "cpu", Phases: engine.Phases{
		Admit: 1, Witness: 2, Synthesis: 3, Wait: 4, Device: 5, Check: 6, Total: 7,
	}}}
	h, reader := newHandler(t, e)
	out, err := h.Prove(t.Context(), delivery("merkle@"+digestA))
	if err != nil {
		t.Fatal(err)
	}
	if want := (queue.Timings{Witness: 2, Synthesis: 3, Wait: 5, Device: 5, Check: 6}); out.Timings != want || out.Device != "cpu" {
		t.Errorf("%+v", out)
	}
	if states := jobStates(t, reader); states != "done:1" {
		t.Errorf("counted %s", states)
	}
}

// jobStates reads the counter of jobs.
func jobStates(t *testing.T, reader *metric.ManualReader) (states string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		t.Fatal(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if sum, ok := m.Data.(metricdata.Sum[int64]); ok {
			for _, p := range sum.DataPoints {
				state, _ := p.Attributes.Value("state")
				states += fmt.Sprintf("%s:%d", state.AsString(), p.Value)
			}
		}
	}
	return states
}

func TestFailures(t *testing.T) {
	engineError := func(code engine.Code, retry bool, err error) error {
		return &engine.Error{Code: code, Retry: retry, Err: err}
	}
	missing := &queue.Failure{Code: queue.CodeWitnessMissing, Msg: "object gone"}
	tests := []struct {
		name    string
		circuit string
		err     error
		want    error
		state   string
	}{
		{"no reference", "a b", nil, &queue.Failure{Code: queue.CodeInvalidJob, Msg: `circuit name "a b": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`}, ""},
		{"witness", "c@" + digestA, engineError(engine.CodeInvalidWitness, false, errors.New("too short")),
			&queue.Failure{Code: "invalid_witness", Msg: "too short"}, "invalid_witness:1"},
		{"device", "c@" + digestA, engineError(engine.CodeDeviceFault, true, errors.New("sticky")),
			&queue.Failure{Code: "device_fault", Msg: "sticky", Retry: true}, "device_fault:1"},
		{"forgeable", "c@" + digestA, engineError(engine.CodeForgeable, false, errors.New("gamma = delta")),
			&queue.Failure{Code: "forgeable_circuit", Msg: "gamma = delta"}, "forgeable_circuit:1"},
		{"unknown everywhere", "c@" + digestA, engineError(engine.CodeUnknownCircuit, true, circuit.ErrUnknownCircuit),
			&queue.Failure{Code: "unknown_circuit", Msg: "unknown circuit"}, "unknown_circuit:1"},
		{"known elsewhere", "c@" + digestB, engineError(engine.CodeUnknownCircuit, false, circuit.ErrUnknownCircuit),
			&queue.Defer{After: handOn, Reason: "unknown circuit"}, "deferred:1"},
		{"another digest here", "c@" + digestB, engineError(engine.CodeWrongDigest, false, circuit.ErrDigestMismatch),
			&queue.Defer{After: handOn, Reason: "the circuit has another digest"}, "deferred:1"},
		{"too large for this worker", "c@" + digestA, engineError(engine.CodeTooLarge, false, &pool.ExceedsError{Want: 3 << 30, Total: 1 << 30}),
			&queue.Defer{After: handOn, Reason: "needs 3GiB of memory, the worker has 1GiB in all"}, "deferred:1"},
		{"the device is full", "c@" + digestA, engineError(engine.CodeMemory, true, gpu.ErrMemory),
			&queue.Defer{After: handOn, Reason: "out of memory"}, "deferred:1"},
		{"the queue's own reason stands", "c@" + digestA, engineError(engine.CodeInternal, true, fmt.Errorf("witness 0: %w", missing)), missing, "witness_missing:1"},
		{"anything else", "c@" + digestA, fs.ErrPermission, fs.ErrPermission, "internal:1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, reader := newHandler(t, &fakeEngine{err: test.err})
			_, err := h.Prove(t.Context(), delivery(test.circuit))
			if !sameFailure(err, test.want) {
				t.Errorf("got %#v, want %#v", err, test.want)
			}
			if test.state != "" && jobStates(t, reader) != test.state {
				t.Errorf("counted %s, want %s", jobStates(t, reader), test.state)
			}
		})
	}
}

// sameFailure compares what the queue looks at, not the cause.
func sameFailure(got, want error) bool {
	var f, g *queue.Failure
	if errors.As(want, &f) && errors.As(got, &g) {
		return f.Code == g.Code && f.Msg == g.Msg && f.Retry == g.Retry
	}
	var d, e *queue.Defer
	if errors.As(want, &d) && errors.As(got, &e) {
		return *d == *e && d.After > time.Second
	}
	return got == want
}

// docs/wire.md explains every code that a result may have.
func TestCodesAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"../queue/failure.go", "../engine/error.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		codes := regexp.MustCompile(`Code[A-Z]\w+ +Code = "(\w+)"`).FindAllSubmatch(source, -1)
		if len(codes) < 5 {
			t.Fatalf("%s: %d codes found", file, len(codes))
		}
		for _, code := range codes {
			if !bytes.Contains(doc, fmt.Appendf(nil, "`%s`", code[1])) {
				t.Errorf("docs/wire.md lacks the code %s", code[1])
			}
		}
	}
}

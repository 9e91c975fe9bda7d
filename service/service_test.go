package service

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/queue"
)

// patience bounds every wait of these tests; reaching it is always a failure.
const patience = time.Minute

// testConfig is that of a worker with its own broker and one circuit, multiplier.
func testConfig(t *testing.T) *Config {
	t.Helper()
	dir := t.TempDir()
	c, err := LoadConfig([]string{"PINION_NATS=embedded", "PINION_LISTEN=127.0.0.1:0", "PINION_HTTP=127.0.0.1:0", "PINION_DATA=" + dir,
		"PINION_WORKER=test", "PINION_MEMORY=2GiB"})
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := c.OpenCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	zkey := filepath.Join(dir, "circuit.zkey")
	data, err := circuits.File("multiplier", "bn128", circuits.Zkey)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(zkey, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := catalogue.Add(t.Context(), "multiplier", circuit.Files{Zkey: zkey}, nil); err != nil {
		t.Fatal(err)
	}
	return c
}

func exampleWitness(t *testing.T) []byte {
	t.Helper()
	wtns, err := circuits.File("multiplier", "bn128", circuits.Witness)
	if err != nil {
		t.Fatal(err)
	}
	return wtns
}

// A service with an embedded broker, started twice on the same directory, the second time as soon as the first has ended: what was
// stored is there, and it works again.
func TestEmbeddedServiceStartsAgain(t *testing.T) {
	config := testConfig(t)
	for round := range 2 {
		s, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()

		client := connectClient(t, config, s.URL())
		for job := range round + 1 {
			prove(t, client, fmt.Sprintf("job-%d", job)) // job-0 of the second round is a duplicate
		}
		stop()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
}

func connectClient(t *testing.T, config *Config, url string) *queue.Client {
	t.Helper()
	producer := *config
	producer.NATS = url
	nc, err := producer.Connect("test", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	client, err := queue.NewClient(t.Context(), nc, queue.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func prove(t *testing.T, client *queue.Client, id string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := client.Submit(ctx, queue.Request{ID: id, Circuit: "multiplier", Witnesses: []queue.Source{queue.Wtns(exampleWitness(t))}}); err != nil {
		t.Fatal(err)
	}
	r, err := client.Wait(ctx, id)
	if err != nil || r.State != queue.Done {
		t.Fatalf("%v, %+v", err, r)
	}
}

// A service that isn't running yet, or doesn't run any more, says so.
func TestReadiness(t *testing.T) {
	config := testConfig(t)
	config.Preload = []string{"all"}
	s, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, "http://"+s.HTTP()+"/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, `"service: loading circuit multiplier"`) {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get(t, "http://"+s.HTTP()+"/healthz"); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if _, body := get(t, "http://"+s.HTTP()+"/metrics"); !strings.Contains(body, `pinion_circuits_loaded{device=`) {
		t.Errorf("%s", body)
	}
	answer, err := s.nc.RequestWithContext(t.Context(), "pinion.status", nil)
	if err != nil {
		t.Fatal(err)
	}
	var now Status
	if err := json.Unmarshal(answer.Data, &now); err != nil || now.Worker != "test" || now.Ready || len(now.Circuits) != 1 || !strings.HasPrefix(now.Circuits[0], "multiplier@") || now.Reason != "service: loading circuit multiplier" {
		t.Errorf("%v: %s", err, answer.Data)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := s.Run(ctx); err != nil {
		t.Error(err)
	}
	if answer, err := http.Get("http://" + s.HTTP() + "/readyz"); err == nil {
		answer.Body.Close()
		t.Error("the probes outlive the service")
	}
}

func TestPreloadUnknownCircuit(t *testing.T) {
	config := testConfig(t)
	config.Preload = []string{"nosuch"}
	_, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
	if want := "PINION_PRELOAD: circuit nosuch: unknown_circuit: circuit nosuch: unknown circuit"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// Once a prover is closed, none of our goroutines is left to keep a process alive. (C20)
func TestProverLeavesNoGoroutines(t *testing.T) {
	config := testConfig(t)
	p, err := config.NewProver(slog.New(slog.DiscardHandler), noop.Tracer{})
	if err != nil {
		t.Fatal(err)
	}
	wtns := exampleWitness(t)
	_, err = p.Engine.Prove(t.Context(), engine.Request{Circuit: circuit.Ref{Name: "multiplier"}, Witnesses: []engine.Witness{{
		Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(wtns)), nil },
		Size: int64(len(wtns)),
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	// A goroutine that has said its last word may take a moment to be gone.
	for deadline := time.Now().Add(10 * time.Second); ourGoroutines() != ""; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("left over:\n%s", ourGoroutines())
		}
	}
}

// ourGoroutines is the stacks of this module's goroutines, but for those of tests.
func ourGoroutines() string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	ours := strings.Split(string(stacks), "\n\n")[1:] // the first is the caller's
	return strings.Join(slices.DeleteFunc(ours, func(stack string) bool {
		return !strings.Contains(stack, "pinion-zk/pinion") || strings.Contains(stack, "testing.")
	}), "\n\n")
}

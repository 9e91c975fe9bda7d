package service

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/queue"
)

// emptyWorker starts a service without circuits; elsewhere is a catalogue that has some.
func emptyWorker(t *testing.T) (s *Service, config *Config, elsewhere *circuit.Catalogue) {
	t.Helper()
	config = testConfig(t)
	elsewhere, err := config.OpenCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	config.Circuits = filepath.Join(t.TempDir(), "empty")
	if s, err = Start(t.Context(), config, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	return s, config, elsewhere
}

// Many jobs at once of a circuit that the worker lacks: it is fetched once, and all are proven. A worker with an empty folder that is to
// preload it fetches it before it is ready.
func TestFetch(t *testing.T) {
	t.Parallel()
	s, config, elsewhere := emptyWorker(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	client := connectClient(t, config, s.URL())
	if _, err := PushCircuit(t.Context(), client, elsewhere, circuit.Ref{Name: "multiplier"}, false, nil); err != nil {
		t.Fatal(err)
	}
	requests := make([]queue.Request, 8)
	for i := range requests {
		requests[i] = queue.Request{ID: fmt.Sprintf("job-%d", i), Circuit: "multiplier", Witnesses: []queue.Source{queue.Wtns(exampleWitness(t))}}
	}
	for _, submitted := range client.SubmitBatch(t.Context(), requests) {
		if submitted.Err != nil {
			t.Fatal(submitted.Err)
		}
	}
	waiting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, r := range requests {
		if r, err := client.Wait(waiting, r.ID); err != nil || r.State != queue.Done || r.Attempt != 1 {
			t.Errorf("%v, %+v", err, r)
		}
	}
	fetchedOnce(t, s)
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	config.Circuits = filepath.Join(t.TempDir(), "empty")
	config.Preload = []string{"multiplier"}
	s, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	fetchedOnce(t, s)
	if resident := s.prover.Engine.Resident(); len(resident) != 1 {
		t.Errorf("resident: %v", resident)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

// fetchedOnce checks that the worker has fetched one circuit, by one download.
func fetchedOnce(t *testing.T, s *Service) {
	t.Helper()
	received, err := s.prover.Catalogue.Received()
	if err != nil || len(received) != 1 {
		t.Errorf("received %v, %v", received, err)
	}
	_, page := get(t, "http://"+s.HTTP()+"/metrics")
	if !regexp.MustCompile(`(?m)^pinion_circuits_fetches_total\{.*state="done".*\} 1$`).MatchString(page) {
		t.Errorf("not fetched once:\n%s", page)
	}
}

// While another process of the machine fetches a circuit, jobs of it are handed on. A worker that stops meanwhile waits for nobody.
func TestFetchEndsWithTheWorker(t *testing.T) {
	t.Parallel()
	s, _, elsewhere := emptyWorker(t)
	info, err := PushCircuit(t.Context(), s.client, elsewhere, circuit.Ref{Name: "multiplier"}, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	begun, goOn, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	stuck := circuit.Incoming{Name: "key.pinion", Size: 1, Open: func(context.Context) (io.ReadCloser, error) {
		close(begun)
		<-goOn
		return nil, io.ErrUnexpectedEOF
	}}
	go func() {
		defer close(done)
		_, _ = s.prover.Catalogue.Receive(context.Background(), info.Ref(), []circuit.Incoming{stuck}, nil, nil) // as another process would
	}()
	<-begun
	for range 2 {
		err := s.circuits.fetch(t.Context(), info.Ref())
		if later, ok := errors.AsType[*queue.Defer](err); !ok || later.Reason != "circuit multiplier is still loading" || later.After < minLoading {
			t.Errorf("found %v", err)
		}
	}
	if loading := s.circuits.loading(); !slices.Equal(loading, []string{info.Ref().String()}) {
		t.Errorf("loading %v", loading)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if loading := s.circuits.loading(); len(loading) != 0 {
		t.Errorf("loading %v after the end", loading)
	}
	close(goOn)
	<-done
}

// Circuits that were fetched make room for another; one that exceeds all of it is left to other workers, who are told why.
func TestFetchMakesRoom(t *testing.T) {
	t.Parallel()
	config := testConfig(t)
	elsewhere, err := config.OpenCatalogue()
	if err != nil {
		t.Fatal(err)
	}
	first, err := elsewhere.Info(circuit.Ref{Name: "multiplier"})
	if err != nil {
		t.Fatal(err)
	}
	second, err := elsewhere.Add(t.Context(), "second", circuit.Files{Zkey: filepath.Join(config.Data, "circuit.zkey")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	config.Circuits = filepath.Join(t.TempDir(), "empty")
	config.Fetched = Size(first.Bytes + first.Bytes/2)
	s, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range []*circuit.Info{first, second} {
		if _, err := PushCircuit(t.Context(), s.client, elsewhere, info.Ref(), false, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.circuits.pull(t.Context(), info.Ref(), nil); err != nil {
			t.Fatal(err)
		}
	}
	received, err := s.prover.Catalogue.Received()
	if err != nil || len(received) != 1 || received[0] != *second {
		t.Errorf("received %+v, %v", received, err)
	}
	s.circuits.disk = first.Bytes / 2
	later, ok := errors.AsType[*queue.Defer](s.circuits.fetch(t.Context(), first.Ref()))
	if !ok || !strings.HasPrefix(later.Reason, "circuit multiplier couldn't be fetched (try 1): PINION_FETCHED: ") {
		t.Errorf("found %v", later)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

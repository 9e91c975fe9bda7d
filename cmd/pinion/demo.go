package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

type demoCmd struct {
	Jobs int `default:"24" help:"Jobs to submit."`
}

func (*demoCmd) Help() string {
	return "Runs a broker and a worker in this process, imports two example circuits on both curves, submits jobs, waits for their " +
		"replies and verifies every proof as a producer would. Everything is kept in a temporary directory, which is removed at the end."
}

// demoTime bounds the whole demo.
const demoTime = 5 * time.Minute

func (d *demoCmd) Run(a *app) error {
	if d.Jobs < 1 || d.Jobs > 10000 {
		return &usageError{fmt.Errorf("--jobs: found %d, expected 1 to 10000", d.Jobs)}
	}
	ctx, cancel := context.WithTimeout(a.ctx, demoTime)
	defer cancel()
	dir, err := os.MkdirTemp("", "pinion-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config, err := demoConfig(a, dir)
	if err != nil {
		return err
	}
	examples, err := addExamples(ctx, a, config, dir)
	if err != nil {
		return err
	}
	sent := &spanKeeper{}
	return withService(ctx, a, config, sent.tracer(), func(client *queue.Client) error {
		replies, err := d.prove(ctx, a, client, sent, examples)
		if err != nil {
			return err
		}
		return a.print(demoJSON(replies), func(w io.Writer) { printDemo(w, replies) })
	})
}

// demoConfig is the user's configuration, but for what would leave traces or meet other processes.
func demoConfig(a *app, dir string) (*service.Config, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	config.NATS, config.Listen, config.HTTP = service.Embedded, "127.0.0.1:0", "off"
	config.Data, config.Circuits = dir, filepath.Join(dir, "circuits")
	config.Worker, config.Preload = "demo", nil
	if config.Log == "info" {
		config.Log = "warn"
	}
	return config, nil
}

// example is a circuit with what a producer has of it: a witness, the inputs it was computed from, and the verifying key.
type example struct {
	name            string
	wtns, inputs    []byte
	key             groth16.VerifyingKey
	expectedSignals groth16.Public
}

// addExamples imports the example circuits and returns them as a producer sees them.
func addExamples(ctx context.Context, a *app, config *service.Config, dir string) ([]*example, error) {
	catalogue, err := config.OpenCatalogue()
	if err != nil {
		return nil, err
	}
	bar := a.bar()
	defer bar.close()
	var examples []*example
	for _, name := range []string{"merkle", "commit"} {
		for _, curve := range circuits.Curves {
			from := filepath.Join(dir, "files", name, curve)
			if err := circuits.Extract(from, name, curve); err != nil {
				return nil, err
			}
			e, err := newExample(name, curve)
			if err != nil {
				return nil, err
			}
			examples = append(examples, e)
			files := circuit.Files{
				Zkey: filepath.Join(from, circuits.Zkey), Wasm: filepath.Join(from, circuits.Wasm), R1CS: filepath.Join(from, circuits.R1CS),
			}
			if _, err := catalogue.Add(ctx, e.name, files, bar.report); err != nil {
				return nil, err
			}
		}
	}
	return examples, nil
}

func newExample(name, curve string) (*example, error) {
	e := &example{name: name + "-" + curve}
	var faults []error
	read := func(file string) []byte {
		data, err := circuits.File(name, curve, file)
		faults = append(faults, err)
		return data
	}
	var err error
	e.wtns = read(circuits.Witness)
	e.inputs, err = circuits.Input(name)
	faults = append(faults, err,
		json.Unmarshal(read(circuits.VerificationKey), &e.key),
		json.Unmarshal(read(circuits.Public), &e.expectedSignals))
	return e, errors.Join(faults...)
}

// withService runs a worker beside f, whose client makes spans with tracer, and stops it afterwards.
func withService(ctx context.Context, a *app, config *service.Config, tracer trace.Tracer, f func(*queue.Client) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	log := config.Logger(a.stderr)
	s, err := service.Start(ctx, config, log)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		ended <- s.Run(ctx)
		cancel() // a worker that ended by itself leaves nothing to wait for
	}()
	err = withClient(ctx, s.URL(), config, tracer, f)
	cancel()
	return errors.Join(err, <-ended)
}

func withClient(ctx context.Context, url string, config *service.Config, tracer trace.Tracer, f func(*queue.Client) error) error {
	producer := *config
	producer.NATS = url
	nc, err := producer.Connect("pinion demo producer", config.Logger(io.Discard))
	if err != nil {
		return err
	}
	defer nc.Close()
	client, err := queue.NewClient(ctx, nc, queue.ClientConfig{Tracer: tracer})
	if err != nil {
		return err
	}
	return f(client)
}

// demoReply is what came back for one job.
type demoReply struct {
	example *example
	result  *queue.Result
	sent    *otlp.Span // the producer's
	spans   [][]byte   // the worker's: OTLP messages
}

// prove submits the jobs, by witness and by inputs in turn, and returns their replies in the order of submission, every proof
// verified.
func (d *demoCmd) prove(ctx context.Context, a *app, client *queue.Client, sent *spanKeeper, examples []*example) ([]*demoReply, error) {
	inbox, err := client.NewInbox()
	if err != nil {
		return nil, err
	}
	defer inbox.Close()
	replies := make([]*demoReply, d.Jobs)
	byID := make(map[string]*demoReply, d.Jobs)
	for i := range replies {
		e := examples[i%len(examples)]
		source := queue.Wtns(e.wtns)
		if i/len(examples)%2 == 1 {
			source = queue.Inputs(e.inputs)
		}
		sub, err := client.Submit(ctx, queue.Request{Circuit: e.name, Witnesses: []queue.Source{source}, Reply: inbox.Subject()})
		if err != nil {
			return nil, err
		}
		replies[i] = &demoReply{example: e, sent: sent.last}
		byID[sub.ID] = replies[i]
	}
	return replies, collect(ctx, a, inbox, byID)
}

// collect reads replies until each job has its result and its spans.
func collect(ctx context.Context, a *app, inbox *queue.Inbox, jobs map[string]*demoReply) error {
	bar := a.bar()
	defer bar.close()
	for waiting := len(jobs); waiting > 0; {
		message, err := inbox.Next(ctx)
		if err != nil {
			return fmt.Errorf("%d jobs have no reply yet: %w", waiting, err)
		}
		r := jobs[message.Job]
		if r == nil {
			continue
		}
		before := r.complete()
		switch message.Kind {
		case queue.KindResult, queue.KindError:
			r.result = message.Result
			if err := r.check(); err != nil {
				return fmt.Errorf("job %s, circuit %s: %w", message.Job, r.example.name, err)
			}
		case queue.KindSpans:
			r.spans = append(r.spans, message.Spans)
		case queue.KindProgress: // the bar counts whole jobs
		}
		if !before && r.complete() {
			waiting--
			bar.report("jobs", int64(len(jobs)-waiting), int64(len(jobs)))
		}
	}
	return nil
}

func (r *demoReply) complete() bool { return r.result != nil && r.spans != nil }

// check does what a producer must do before it uses a proof.
func (r *demoReply) check() error {
	if r.result.State != queue.Done {
		return &jobError{r.result.ID, r.result.State, r.result.Err}
	}
	proof, public, err := decodeProof(r.result.Proofs[0])
	if err != nil {
		return err
	}
	if string(public) != string(r.example.expectedSignals) {
		return errors.New("other public signals than expected")
	}
	return r.example.key.Verify(proof, public)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

type submitCmd struct {
	Circuit  string        `arg:"" help:"Name, or name@digest, of a circuit that a worker serves."`
	Witness  string        `placeholder:"F" xor:"witness" required:"" help:"Witness: a .wtns file."`
	Input    string        `placeholder:"F" xor:"witness" required:"" help:"Inputs: circom's JSON, from which the worker computes the witness."`
	ID       string        `name:"id" placeholder:"ID" help:"Id of the job: 1 to 64 of A-Z, a-z, 0-9, _ and -. The same job under the same id is one job, however often it is submitted."`
	Priority string        `enum:"high,normal,low" default:"normal" help:"high, normal or low."`
	Deadline time.Duration `placeholder:"D" help:"Time from now after which the job has lost its worth."`
	Reply    string        `placeholder:"SUBJECT" help:"Subject that the result, progress and spans are sent to, besides the stored result."`
	Wait     bool          `help:"Wait for the result; what a job in the queue waits for is told on stderr."`
	Proof    string        `placeholder:"F" help:"With --wait, file for the proof: compressed bytes if it ends in .bin, else JSON."`
	Public   string        `placeholder:"F" help:"With --wait, file for the public signals: 32 bytes big-endian each if it ends in .bin, else JSON."`
}

func (*submitCmd) Help() string {
	return "Prints the job's id, and with --wait what became of it: exit code 4 if the job ended without a proof. A submit that was " +
		"interrupted can be repeated with the same --id."
}

func (s *submitCmd) Run(a *app) error {
	if !s.Wait && (s.Proof != "" || s.Public != "") {
		return &usageError{errors.New("--proof and --public go with --wait")}
	}
	source, closeSource, err := openSource(s.Witness, s.Input)
	if err != nil {
		return err
	}
	defer func() { _ = closeSource() }() // read to its end or not at all
	client, closeClient, err := a.client()
	if err != nil {
		return err
	}
	defer closeClient()

	sub, err := s.submit(a, client, source)
	if err != nil {
		return err
	}
	if !s.Wait {
		return a.print(submission{sub.ID, sub.Circuit, sub.Duplicate}, func(w io.Writer) { fmt.Fprintln(w, sub.ID) })
	}
	result, err := s.waitFor(a, client, sub.ID)
	if err != nil {
		return err
	}
	return s.finish(a, result)
}

// submission is what submit prints when it doesn't wait.
type submission struct {
	ID        string `json:"id"`
	Circuit   string `json:"circuit"`
	Duplicate bool   `json:"duplicate"`
}

// client connects to the queue.
func (a *app) client() (*queue.Client, func(), error) {
	config, err := a.config()
	if err != nil {
		return nil, nil, err
	}
	nc, err := config.Connect("pinion submit", config.Logger(a.stderr))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	client, err := service.NewClient(ctx, nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return client, nc.Close, nil
}

func openSource(wtns, inputs string) (queue.Source, func() error, error) {
	nothing := func() error { return nil }
	if inputs != "" {
		data, err := readFile(inputs)
		return queue.Inputs(data), nothing, err
	}
	f, err := os.Open(wtns)
	if err != nil {
		return queue.Source{}, nothing, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return queue.Source{}, nothing, err
	}
	return queue.WtnsAt(f, info.Size()), f.Close, nil
}

func (s *submitCmd) submit(a *app, client *queue.Client, source queue.Source) (*queue.Submission, error) {
	bar := a.bar()
	defer bar.close()
	request := queue.Request{
		ID:        s.ID,
		Circuit:   s.Circuit,
		Priority:  queue.Priority(s.Priority),
		Witnesses: []queue.Source{source},
		Reply:     s.Reply,
		Uploading: func(done, total int64) { bar.report("upload", done, total) },
	}
	if s.Deadline > 0 {
		request.Deadline = time.Now().Add(s.Deadline)
	}
	sub, err := client.Submit(a.ctx, request)
	if errors.Is(err, queue.ErrUnknownCircuit) {
		err = fmt.Errorf("%w; a worker registers the circuits of its catalogue when it starts, and so does: pinion provision --circuits", err)
	}
	return sub, err
}

// jobError is a job that ended without a proof.
type jobError struct {
	id    string
	state queue.State
	err   *queue.Failure
}

func (e *jobError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("job %s: %s", e.id, e.state)
	}
	return fmt.Sprintf("job %s: %s: %v", e.id, e.state, e.err)
}

// finish prints a result, writes its files, and fails if it holds no proof.
func (s *submitCmd) finish(a *app, r *queue.Result) error {
	if err := a.print(resultJSON(r), func(w io.Writer) {
		if r.State == queue.Done {
			fmt.Fprintf(w, "%s done in %.0f ms by %s on %s\n", r.ID, r.Timings.Total.Seconds()*1e3, r.Worker, r.Device)
		}
	}); err != nil {
		return err
	}
	if r.State != queue.Done {
		return &jobError{r.ID, r.State, r.Err}
	}
	proof, public, err := decodeProof(r.Proofs[0])
	if err != nil {
		return err
	}
	if s.Proof != "" {
		err = writeProof(s.Proof, proof)
	}
	if s.Public != "" {
		err = errors.Join(err, writePublic(s.Public, public))
	}
	return err
}

// decodeProof reads a proof of a result; its length tells the curve.
func decodeProof(p queue.Proof) (*groth16.Proof, groth16.Public, error) {
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		if len(p.Proof) == curve.ProofSize() {
			proof, err := groth16.ParseProof(curve, p.Proof)
			return proof, groth16.Public(p.Public), err
		}
	}
	return nil, nil, fmt.Errorf("result: a proof of %d bytes, expected %d or %d", len(p.Proof), groth16.BN254.ProofSize(), groth16.BLS12381.ProofSize())
}

// resultJSON is a result for machines. Proof and signals are in it as bytes: --proof and --public write snarkjs's forms.
func resultJSON(r *queue.Result) any {
	type failure struct {
		Code  string `json:"code"`
		Msg   string `json:"msg"`
		Retry bool   `json:"retry"`
	}
	type proof struct {
		Proof  []byte `json:"proof"`
		Public []byte `json:"public"`
	}
	out := struct {
		ID      string             `json:"id"`
		State   string             `json:"state"`
		Circuit string             `json:"circuit"`
		Proofs  []proof            `json:"proofs,omitempty"`
		Err     *failure           `json:"err,omitempty"`
		Attempt int                `json:"attempt"`
		Worker  string             `json:"worker,omitempty"`
		Device  string             `json:"device,omitempty"`
		MS      map[string]float64 `json:"ms"`
		Trace   string             `json:"trace,omitempty"`
	}{ID: r.ID, State: string(r.State), Circuit: r.Circuit, Attempt: r.Attempt, Worker: r.Worker, Device: r.Device, MS: timingsMS(r.Timings), Trace: r.Trace}
	for _, p := range r.Proofs {
		out.Proofs = append(out.Proofs, proof(p))
	}
	if r.Err != nil {
		out.Err = &failure{string(r.Err.Code), r.Err.Msg, r.Err.Retry}
	}
	return out
}

// phaseNames are the phases of a result in the order in which they happen, under their names on the wire.
var phaseNames = []string{"queue", "decode", "fetch", "witness", "synthesis", "wait", "device", "check", "total"}

func timingsMS(t queue.Timings) map[string]float64 {
	all := []time.Duration{t.Queue, t.Decode, t.Fetch, t.Witness, t.Synthesis, t.Wait, t.Device, t.Check, t.Total}
	ms := make(map[string]float64, len(all))
	for i, d := range all {
		ms[phaseNames[i]] = float64(d.Microseconds()) / 1e3
	}
	return ms
}

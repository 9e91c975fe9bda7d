package main

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/queue"
)

type resultsCmd struct {
	ID   string `arg:"" help:"Id of the job."`
	Wait bool   `help:"Wait for the result if there is none yet."`
	outputs
}

func (*resultsCmd) Help() string {
	return "Whoever knows a job's id can have its result for as long as it is kept: 72 hours, unless the operator chose otherwise. Exit code 4 if " +
		"the job ended without a proof, 5 if it hasn't ended yet."
}

func (c *resultsCmd) Run(a *app) error {
	client, closeClient, err := a.client("results")
	if err != nil {
		return err
	}
	defer closeClient()
	if c.Wait {
		result, err := a.follow(a.ctx, client, c.ID, false)
		if err != nil {
			return about(c.ID, err)
		}
		return c.finish(a, result)
	}
	result, err := client.Result(a.ctx, c.ID)
	if errors.Is(err, queue.ErrNoResult) {
		return noResult(a, client, c.ID)
	} else if err != nil {
		return err
	}
	return c.finish(a, result)
}

// noResult says why a job has none.
func noResult(a *app, client *queue.Client, id string) error {
	st, err := client.Status(a.ctx, id)
	switch {
	case err != nil:
		return about(id, err)
	case st.State.Final():
		return fmt.Errorf("%w of %s any more: it was %s at %s", queue.ErrNoResult, id, st.State, st.At.UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("%w of %s yet: %s", queue.ErrNoResult, id, standing(st))
}

// about names the job that an error of the queue is about.
func about(id string, err error) error {
	if isOneOf(err, queue.ErrUnknownJob, queue.ErrNoDeadLetter) {
		return fmt.Errorf("%w: %.100s", err, id)
	}
	return err
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

// outputs are the files for what a result holds.
type outputs struct {
	Proof  string `placeholder:"F" help:"File for the proof: compressed bytes if it ends in .bin, else JSON. Several proofs have their numbers before the ending, as proof-0.json."`
	Public string `placeholder:"F" help:"File for the public signals, likewise: 32 bytes big-endian each if it ends in .bin, else JSON."`
}

func (o *outputs) wanted() bool { return o.Proof != "" || o.Public != "" }

// finish prints a result, writes its files, and fails if it holds no proof.
func (o *outputs) finish(a *app, r *queue.Result) error {
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
	for i, p := range r.Proofs {
		if err := o.write(p, i, len(r.Proofs)); err != nil {
			return err
		}
	}
	return nil
}

// write stores the i-th of n proofs.
func (o *outputs) write(p queue.Proof, i, n int) error {
	proof, public, err := decodeProof(p)
	if err != nil {
		return err
	}
	if o.Proof != "" {
		err = writeProof(numbered(o.Proof, i, n), proof)
	}
	if o.Public != "" {
		err = errors.Join(err, writePublic(numbered(o.Public, i, n), public))
	}
	return err
}

// numbered is the i-th of n files that have one name.
func numbered(path string, i, n int) string {
	if n == 1 {
		return path
	}
	ext := filepath.Ext(path)
	return fmt.Sprintf("%s-%d%s", strings.TrimSuffix(path, ext), i, ext)
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

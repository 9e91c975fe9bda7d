package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.opentelemetry.io/otel/trace/noop"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/groth16"
)

type proveCmd struct {
	Circuit string `arg:"" optional:"" help:"Name, or name@digest, of a circuit of the catalogue."`
	Zkey    string `placeholder:"F" help:"Instead of a name: proving key of snarkjs. It is checked and prepared each time; pinion circuit add does that once."`
	Witness string `placeholder:"F" xor:"witness" help:"Witness: a .wtns file."`
	Input   string `placeholder:"F" xor:"witness" help:"Inputs: circom's JSON. The circuit must have its witness calculator."`
	Proof   string `placeholder:"F" default:"proof.json" help:"File for the proof: compressed bytes if it ends in .bin, else JSON."`
	Public  string `placeholder:"F" default:"public.json" help:"File for the public signals: 32 bytes big-endian each if it ends in .bin, else JSON."`
}

func (*proveCmd) Help() string {
	return "The proof is verified before it is written. With --zkey the whole key is checked and prepared each time, as pinion circuit add " +
		"does once: a circuit of the catalogue proves sooner."
}

// proven is what prove leaves.
type proven struct {
	Circuit string             `json:"circuit,omitempty"`
	Curve   string             `json:"curve"`
	Public  int                `json:"public"`
	Proof   string             `json:"proof"`
	Signals string             `json:"signals"`
	MS      map[string]float64 `json:"ms"`
}

func (p *proveCmd) Run(a *app) error {
	switch {
	case (p.Circuit == "") == (p.Zkey == ""):
		return &usageError{errors.New("give the name of a circuit, or --zkey")}
	case p.Witness == "" && p.Input == "":
		return &usageError{errors.New("give --witness or --input")}
	case p.Zkey != "" && p.Input != "":
		return &usageError{errors.New("--input needs a circuit of the catalogue; give --witness with --zkey")}
	}
	if p.Zkey != "" {
		return p.once(a)
	}
	return p.catalogued(a)
}

// catalogued proves by the engine, as a worker does.
func (p *proveCmd) catalogued(a *app) error {
	config, err := a.config()
	if err != nil {
		return err
	}
	ref, err := circuit.ParseRef(p.Circuit)
	if err != nil {
		return &usageError{err}
	}
	w, err := openWitness(p.Witness, p.Input)
	if err != nil {
		return err
	}
	config.Log = "warn" // what the device is goes without saying here
	prover, err := config.NewProver(config.Logger(a.stderr), noop.Tracer{})
	if err != nil {
		return err
	}
	out, err := prover.Engine.Prove(a.ctx, engine.Request{Circuit: ref, Witnesses: []engine.Witness{w}})
	if err := errors.Join(at(prover.Catalogue, err), prover.Close(context.WithoutCancel(a.ctx))); err != nil {
		return err
	}
	return p.write(a, out.Proofs[0].Proof, out.Proofs[0].Public, proven{Circuit: out.Circuit.String(), MS: out.Phases.Milliseconds()})
}

// openWitness makes the engine's witness of one of the two files.
func openWitness(wtns, inputs string) (engine.Witness, error) {
	if inputs != "" {
		data, err := readFile(inputs)
		return engine.Witness{Inputs: data}, err
	}
	info, err := os.Stat(wtns)
	if err != nil {
		return engine.Witness{}, err
	}
	return engine.Witness{
		Open: func(context.Context) (io.ReadCloser, error) { return os.Open(wtns) },
		Size: info.Size(),
	}, nil
}

// once proves with a key that is in no catalogue.
func (p *proveCmd) once(a *app) error {
	begin := time.Now()
	dir, err := os.MkdirTemp("", "pinion-prove-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	key, err := prepare(a.ctx, p.Zkey, dir)
	if err != nil {
		return err
	}
	defer key.Close()
	prepared := time.Since(begin)
	a.warnForgeableKey(p.Zkey, key.VerifyingKey().Forgeable())

	pk := key.ProvingKey()
	witness, err := readWitness(p.Witness, circuit.Shape{Curve: pk.Curve, Vars: pk.Vars})
	if err != nil {
		return err
	}
	proof, public, err := proveWith(a.ctx, key, witness)
	if err != nil {
		return err
	}
	milliseconds := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }
	return p.write(a, proof, public, proven{MS: map[string]float64{
		"prepare": milliseconds(prepared), "total": milliseconds(time.Since(begin)),
	}})
}

func prepare(ctx context.Context, zkey, dir string) (*circuit.Prepared, error) {
	z, err := circuit.OpenZkey(zkey)
	if err != nil {
		return nil, err
	}
	defer z.Close()
	path := dir + "/key.pinion"
	if err := circuit.Prepare(ctx, z, path, nil); err != nil {
		return nil, err
	}
	return circuit.OpenPrepared(path)
}

func readWitness(path string, shape circuit.Shape) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	words := make([]byte, shape.Vars*groth16.ScalarSize)
	if err := circuit.DecodeWtns(words, f, info.Size(), shape); err != nil {
		return nil, err
	}
	return words, nil
}

// proveWith makes a proof and verifies it.
func proveWith(ctx context.Context, key *circuit.Prepared, witness []byte) (*groth16.Proof, groth16.Public, error) {
	pk := key.ProvingKey()
	prover, err := groth16.NewProver(pk)
	if err != nil {
		return nil, nil, err
	}
	proof, _, err := prover.Prove(ctx, groth16.Input{Witness: witness})
	if err != nil {
		return nil, nil, err
	}
	public := groth16.PublicFromWitness(witness, pk.Public)
	if err := key.VerifyingKey().Verify(proof, public); err != nil {
		return nil, nil, &inputError{fmt.Errorf("the witness doesn't satisfy the circuit: %w", err)}
	}
	return proof, public, nil
}

// write writes both files and says so.
func (p *proveCmd) write(a *app, proof *groth16.Proof, public groth16.Public, what proven) error {
	if err := writeProof(p.Proof, proof); err != nil {
		return err
	}
	if err := writePublic(p.Public, public); err != nil {
		return err
	}
	what.Curve, what.Public, what.Proof, what.Signals = proof.Curve.String(), public.Len(), p.Proof, p.Public
	return a.print(what, func(w io.Writer) {
		fmt.Fprintf(w, "proved in %.0f ms: %s, %s\n", what.MS["total"], p.Proof, p.Public)
	})
}

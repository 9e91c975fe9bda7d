package circuit

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// C5: circuits without public signals, one of them so small that its domain is 2.
func TestC5NoPublicSignals(t *testing.T) {
	proveEdge(t, "nopub", []byte("[]"))
	proveEdge(t, "nopub2", []byte("[]"))
}

// C9: the root of unity of BLS12-381 keys is another than that of gnark and arkworks.
func TestC9KeysOnBLS12381(t *testing.T) { proveExamples(t, "bls12381") }

func TestProveExamplesOnBN254(t *testing.T) { proveExamples(t, "bn128") }

// C10: a circuit with linear constraints only, and one whose wires are all public, so that its section C is empty.
func TestC10LinearOrAllPublic(t *testing.T) {
	proveEdge(t, "lin", edge(t, "lin.pub.json"))
	proveEdge(t, "allpub", edge(t, "allpub.pub.json"))
}

func proveEdge(t *testing.T, name string, public []byte) {
	t.Run(name, func(t *testing.T) {
		c := newCatalogue(t)
		mustAdd(t, c, name, edgeFiles(name))
		proveAndVerify(t, c, name, edge(t, name+".wtns"), public)
	})
}

func proveExamples(t *testing.T, curve string) {
	for _, name := range circuits.Names {
		t.Run(name, func(t *testing.T) {
			c := newCatalogue(t)
			mustAdd(t, c, name, exampleFiles(t, name, curve))
			proveAndVerify(t, c, name, example(t, name, curve, circuits.Witness), example(t, name, curve, circuits.Public))
		})
	}
}

// proveAndVerify goes from the files that circom and snarkjs made to a proof that verifies, and to snarkjs's public signals.
func proveAndVerify(t *testing.T, c *Catalogue, name string, wtns, wantPublic []byte) {
	t.Helper()
	circuit, err := c.Open(Ref{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	defer circuit.Close()
	witness := make([]byte, circuit.Vars*groth16.ScalarSize)
	if err := DecodeWtns(witness, bytes.NewReader(wtns), int64(len(wtns)), circuit.Shape()); err != nil {
		t.Fatal(err)
	}
	if err := circuit.R1CS().Check(context.Background(), witness); err != nil {
		t.Fatal(err)
	}
	public := groth16.PublicFromWitness(witness, circuit.Public)
	prover, err := groth16.NewProver(circuit.Key())
	if err != nil {
		t.Fatal(err)
	}
	proof, _, err := prover.Prove(context.Background(), groth16.Input{Witness: witness})
	if err != nil {
		t.Fatal(err)
	}
	if err := circuit.VerifyingKey().Verify(proof, public); err != nil {
		t.Error(err)
	}
	text, err := json.Marshal(public)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := json.Compact(&want, wantPublic); err != nil || !bytes.Equal(text, want.Bytes()) {
		t.Errorf("public signals %s, expected %s", text, want.Bytes())
	}
}

package circuit

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// From the files that circom and snarkjs made to a proof that verifies: the edge circuits that other provers fail on (C5: no public
// signals, C10: linear constraints only, all wires public), and both curves (C9).
func TestProveFromCatalogue(t *testing.T) {
	c := newCatalogue(t)
	for _, name := range []string{"mul", "lin", "allpub", "nopub", "nopub2"} {
		t.Run(name, func(t *testing.T) {
			mustAdd(t, c, name, edgeFiles(name))
			public := []byte("[]")
			if name != "nopub2" {
				public = edge(t, name+".pub.json")
			}
			proveAndVerify(t, c, name, edge(t, name+".wtns"), public)
		})
	}
	for _, curve := range circuits.Curves {
		for _, name := range circuits.Names {
			t.Run(name+" on "+curve, func(t *testing.T) {
				circuit := name + "-" + curve
				mustAdd(t, c, circuit, exampleFiles(t, name, curve))
				proveAndVerify(t, c, circuit, example(t, name, curve, circuits.Witness), example(t, name, curve, circuits.Public))
			})
		}
	}
}

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

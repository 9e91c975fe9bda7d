package engine

import (
	"context"
	"errors"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

func TestKnownCircuitIsProven(t *testing.T) {
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		t.Run(curve.String(), func(t *testing.T) {
			k, err := newKnown(curve)
			if err != nil {
				t.Fatal(err)
			}
			prover, err := groth16.NewProver(k.key)
			if err != nil {
				t.Fatal(err)
			}
			proof, _, err := prover.Prove(context.Background(), groth16.Input{Witness: k.witness})
			if err != nil {
				t.Fatal(err)
			}
			if err := k.verifying.Verify(proof, k.public); err != nil {
				t.Errorf("the right witness: %v", err)
			}

			k.witness[5*groth16.ScalarSize]++
			proof, _, err = prover.Prove(context.Background(), groth16.Input{Witness: k.witness})
			if err != nil {
				t.Fatal(err)
			}
			if err := k.verifying.Verify(proof, k.public); !errors.Is(err, groth16.ErrInvalidProof) {
				t.Errorf("a wrong witness: %v, expected ErrInvalidProof", err)
			}
		})
	}
}

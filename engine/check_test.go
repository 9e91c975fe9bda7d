package engine

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// published is a verifying key, a proof and its public signals, as an example has them.
func published(t *testing.T) (*groth16.VerifyingKey, *groth16.Proof, groth16.Public) {
	t.Helper()
	var key groth16.VerifyingKey
	var proof groth16.Proof
	var public groth16.Public
	for kind, to := range map[string]any{circuits.VerificationKey: &key, circuits.Proof: &proof, circuits.Public: &public} {
		data, err := circuits.File("multiplier", "bn128", kind)
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &key, &proof, public
}

// Proofs of several jobs are verified together, and each job is told about its own.
func TestProofsOfSeveralJobsAreVerifiedTogether(t *testing.T) {
	const batch, wrong = roundSize, 5
	key, proof, public := published(t)
	c := &checks{}
	var rounds [batch]*round
	for i := range batch {
		p := proof
		if i == wrong {
			p = foreignProof(groth16.BN254)
		}
		r, place, full := c.enter(p, public, batch)
		if rounds[i] = r; place != i || r != rounds[0] || full != (i == batch-1) {
			t.Fatalf("proof %d: place %d, full: %v, the round of the first: %v", i, place, full, r == rounds[0])
		}
	}
	rounds[0].verify(key)
	for i, r := range rounds {
		if err := r.err(i); errors.Is(err, groth16.ErrInvalidProof) != (i == wrong) || err != nil && i != wrong {
			t.Errorf("proof %d: %v", i, err)
		}
	}
	if r, _, _ := c.enter(proof, public, batch); r == rounds[0] {
		t.Error("a proof joins a round that is over")
	}
}

// A round doesn't wait for proofs that never come: their jobs may have been cancelled.
func TestRoundThatIsNeverFull(t *testing.T) {
	key, proof, public := published(t)
	c := &checks{}
	var jobs sync.WaitGroup
	for i := range 3 {
		jobs.Go(func() {
			p := proof
			if i == 1 {
				p = foreignProof(groth16.BN254)
			}
			if err := c.verify(key, p, public, roundSize); errors.Is(err, groth16.ErrInvalidProof) != (i == 1) {
				t.Errorf("proof %d: %v", i, err)
			}
		})
	}
	jobs.Wait()
}

// No proof leaves for want of a verdict.
func TestVerifierThatPanics(t *testing.T) {
	_, proof, public := published(t)
	c := &checks{}
	var jobs sync.WaitGroup
	for range 2 {
		jobs.Go(func() {
			panicked := true
			defer func() {
				if p := recover(); (p != nil) != panicked {
					t.Errorf("panic: %v", p)
				}
			}()
			err := c.verify(nil, proof, public, 2)
			panicked = false
			if err == nil {
				t.Error("a proof without a verdict is taken for right")
			}
		})
	}
	jobs.Wait()
}

package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/pinion-zk/pinion/groth16"
)

type verifyCmd struct {
	Vkey     string `required:"" placeholder:"F" help:"Verifying key: snarkjs's verification_key.json."`
	Public   string `required:"" placeholder:"F" help:"Public signals: snarkjs's public.json."`
	Proof    string `required:"" placeholder:"F" help:"Proof: snarkjs's proof.json, or compressed bytes as gnark (BN254) and bellman (BLS12-381) write them."`
	Calldata bool   `help:"Print the arguments for the Solidity verifier, as snarkjs does (BN254)."`
	Write    string `placeholder:"F" help:"Write the proof to this file: compressed bytes if it ends in .bin, else JSON."`
}

func (*verifyCmd) Help() string {
	return "Exit code 0: the proof is valid. 4: it isn't. 3: a file can't be read as what it should be, a public signal of r or more included."
}

func (v *verifyCmd) Run(a *app) error {
	var key groth16.VerifyingKey
	if err := readJSON(v.Vkey, &key); err != nil {
		return err
	}
	var public groth16.Public
	if err := readJSON(v.Public, &public); err != nil {
		return err
	}
	proof, err := readProof(v.Proof, key.Curve())
	if err != nil {
		return err
	}
	switch err := key.Verify(proof, public); {
	case errors.Is(err, groth16.ErrInvalidProof):
		return err
	case err != nil:
		return &inputError{err} // not even a statement of this circuit
	}
	if key.Forgeable() {
		a.warnf("%s has gamma = delta: it comes from a key without phase-2 contribution, and anyone can forge proofs for it", v.Vkey)
	}
	if v.Write != "" {
		if err := writeProof(v.Write, proof); err != nil {
			return err
		}
	}
	answer := struct {
		Valid     bool   `json:"valid"`
		Curve     string `json:"curve"`
		Forgeable bool   `json:"forgeable"`
		Calldata  string `json:"calldata,omitempty"`
	}{Valid: true, Curve: key.Curve().String(), Forgeable: key.Forgeable()}
	if v.Calldata {
		if answer.Calldata, err = proof.Calldata(public); err != nil {
			return &inputError{err}
		}
	}
	return a.print(answer, func(w io.Writer) {
		if v.Calldata {
			fmt.Fprintln(w, answer.Calldata)
			return
		}
		fmt.Fprintln(w, "valid")
	})
}

// Package circuits embeds three small circom circuits, each for BN254 and for
// BLS12-381, with everything that circom and snarkjs make of them: what the demo
// proves and what the tests of this module run on. README.md says what each
// circuit shows; make.sh made the files.
package circuits

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
)

// FS holds the files: NAME/input.json and, per curve, NAME/CURVE/FILE.
//
//go:embed commit merkle multiplier
var FS embed.FS

// Names are the circuits, and Curves the curves that each is there for, as snarkjs
// spells them.
var (
	Names  = []string{"commit", "merkle", "multiplier"}
	Curves = []string{"bn128", "bls12381"}
)

// The files of a circuit on one curve.
const (
	Zkey            = "circuit.zkey"
	Wasm            = "circuit.wasm"
	R1CS            = "circuit.r1cs"
	VerificationKey = "verification_key.json"
	Witness         = "witness.wtns" // of input.json, by snarkjs
	Proof           = "proof.json"   // of Witness, by snarkjs
	Public          = "public.json"
	Forgeable       = "forgeable.zkey" // multiplier only: a key without contributions
)

// Input returns the inputs of circuit name that its witnesses were made from.
func Input(name string) ([]byte, error) {
	return FS.ReadFile(name + "/input.json")
}

// File returns one file of circuit name on curve.
func File(name, curve, file string) ([]byte, error) {
	return FS.ReadFile(name + "/" + curve + "/" + file)
}

// Extract writes the files of circuit name on curve to dir, which it makes, for
// code that takes paths.
func Extract(dir, name, curve string) error {
	from := name + "/" + curve
	entries, err := FS.ReadDir(from)
	if err != nil {
		return fmt.Errorf("example circuit: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, entry := range entries {
		data, err := FS.ReadFile(from + "/" + entry.Name())
		if err != nil {
			return fmt.Errorf("example circuit: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

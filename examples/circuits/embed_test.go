package circuits_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
)

func TestFiles(t *testing.T) {
	files := []string{
		circuits.Zkey, circuits.Wasm, circuits.R1CS, circuits.VerificationKey,
		circuits.Witness, circuits.Proof, circuits.Public,
	}
	for _, name := range circuits.Names {
		if _, err := circuits.Input(name); err != nil {
			t.Error(err)
		}
		for _, curve := range circuits.Curves {
			for _, file := range files {
				if _, err := circuits.File(name, curve, file); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestExtract(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "multiplier")
	if err := circuits.Extract(dir, "multiplier", "bls12381"); err != nil {
		t.Fatal(err)
	}
	want, err := circuits.File("multiplier", "bls12381", circuits.Forgeable)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, circuits.Forgeable))
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("extracted key differs from the embedded one")
	}
	if err := circuits.Extract(dir, "multiplier", "bn254"); err == nil {
		t.Error("extracted an unknown curve")
	}
}

package gpu

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// Circuits, keys and witnesses that are made anew in each run.
func TestCUDARandomCircuits(t *testing.T) {
	r := newRig(t)
	logs := []int{10, 12, 14, 16, 18}
	if r.software() {
		logs = []int{5}
	}
	for _, log := range logs {
		for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
			t.Run(fmt.Sprintf("2^%d %v", log, curve), func(t *testing.T) {
				s := circuit.Synthetic{Curve: curve, Rows: 1<<log - rand.IntN(1<<log/4), Public: 1 + rand.IntN(7), Seed: rand.Uint64()}
				s.Zeros = rand.Float64()
				s.Ones = rand.Float64() * (1 - s.Zeros)
				t.Logf("%+v", s)
				x := makeExample(t, s)
				key := r.load(x)
				defer r.unload(key)
				proofs, err := r.prove(key, x.witness, x.witness)
				if err != nil {
					t.Fatal(err)
				}
				x.verify(t, proofs, 2)
			})
		}
	}
}

// makeExample makes a synthetic circuit and a key for it.
func makeExample(t *testing.T, s circuit.Synthetic) *example {
	t.Helper()
	constraints, witness, err := s.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := groth16.Setup(t.Context(), constraints, groth16.OddCoset)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := circuit.WriteZkey(t.Context(), filepath.Join(dir, circuits.Zkey), pk, vk, groth16.Multiples, nil); err != nil {
		t.Fatal(err)
	}
	return &example{Prepared: prepare(t, dir), witness: witness}
}

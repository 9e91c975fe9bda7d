package circuit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// setUp makes a key file from constraints.
func setUp(t *testing.T, c *groth16.Constraints) string {
	t.Helper()
	pk, vk, err := groth16.Setup(context.Background(), c, groth16.OddCoset)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "setup.zkey")
	if err := WriteZkey(context.Background(), path, pk, vk, groth16.Multiples, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

// The example circuits with keys of our own: the r1cs fits the key, what snarkjs's key proves this one does too, and it is marked.
func TestSetupFromR1CS(t *testing.T) {
	for _, curve := range []string{"bn128", "bls12381"} {
		for _, name := range circuits.Names {
			t.Run(name+"/"+curve, func(t *testing.T) {
				files := exampleFiles(t, name, curve)
				r, err := OpenR1CS(files.R1CS)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Close()
				constraints, err := r.ReadConstraints(context.Background(), nil)
				if err != nil {
					t.Fatal(err)
				}
				theirs, err := OpenZkey(files.Zkey)
				if err != nil {
					t.Fatal(err)
				}
				defer theirs.Close()
				files.Zkey = setUp(t, constraints)
				ours, err := OpenZkey(files.Zkey)
				if err != nil {
					t.Fatal(err)
				}
				defer ours.Close()
				for _, counts := range [][2]int{{ours.Vars, theirs.Vars}, {ours.Public, theirs.Public}, {ours.Domain, theirs.Domain}, {ours.Entries, theirs.Entries}} {
					if counts[0] != counts[1] {
						t.Errorf("%d in the header, expected %d as snarkjs has it", counts[0], counts[1])
					}
				}
				if !ours.Forgeable() || ours.Contributions != 0 {
					t.Errorf("forgeable: %v, contributions: %d", ours.Forgeable(), ours.Contributions)
				}
				c := newCatalogue(t)
				mustAdd(t, c, name, files)
				proveAndVerify(t, c, name, example(t, name, curve, circuits.Witness), example(t, name, curve, circuits.Public))
			})
		}
	}
}

func TestSyntheticProves(t *testing.T) {
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		t.Run(curve.String(), func(t *testing.T) {
			constraints, witness := mustMake(t, Synthetic{Curve: curve, Rows: 300, Public: 3, Zeros: 0.4, Ones: 0.3})
			c := newCatalogue(t)
			mustAdd(t, c, "made", Files{Zkey: setUp(t, constraints)})
			made, err := c.Open(Ref{Name: "made"})
			if err != nil {
				t.Fatal(err)
			}
			defer made.Close()
			p, err := groth16.NewProver(made.Key())
			if err != nil {
				t.Fatal(err)
			}
			proof, _, err := p.Prove(context.Background(), groth16.Input{Witness: witness})
			if err == nil {
				err = made.VerifyingKey().Verify(proof, groth16.PublicFromWitness(witness, 3))
			}
			if err != nil {
				t.Error(err)
			}
			if points := distinct(made.Key().PointsA.Unchecked(), curve.G1Size()); points != 300 {
				t.Errorf("%d distinct points in A, expected all 300 of them", points)
			}
		})
	}
}

func distinct(points []byte, size int) int {
	seen := map[string]bool{}
	for ; len(points) > 0; points = points[size:] {
		seen[string(points[:size])] = true
	}
	return len(seen)
}

func TestReadConstraintsRefuses(t *testing.T) {
	r1cs := func(change func(f *binaryFile)) (err error) {
		f := takeApart(t, example(t, "multiplier", "bn128", circuits.R1CS))
		change(f)
		r, err := OpenR1CS(store(t, "c.r1cs", f.bytes()))
		if err != nil {
			return err
		}
		defer r.Close()
		_, err = r.ReadConstraints(context.Background(), nil)
		return err
	}
	for want, change := range map[string]func(f *binaryFile){
		"c.r1cs: section 2 at byte 24: found wire 4 in constraint 0, expected less than 4": func(f *binaryFile) {
			f.put32(r1csConstraints, 4, 4)
		},
		"c.r1cs: section 1 at byte 216: found 1 constraints, 1 public wires, 268435457 wires, " +
			"expected at most 268435456 constraints, public wires and the constant one, and at most as many wires": func(f *binaryFile) {
			f.put32(r1csHeader, 36, maxDomain+1)
			f.remove(r1csLabels)
		},
	} {
		if err := r1cs(change); err == nil || err.Error() != want {
			t.Errorf("error %v, expected %s", err, want)
		}
	}
}

func TestWriteZkeyRefuses(t *testing.T) {
	constraints, _ := mustMake(t, Synthetic{Curve: groth16.BN254, Rows: 4, Public: 1})
	path := filepath.Join(t.TempDir(), "x.zkey")
	write := func(quotient groth16.Quotient, change func(pk *groth16.ProvingKey), multiply groth16.Multiplier) error {
		pk, vk, err := groth16.Setup(context.Background(), constraints, quotient)
		if err != nil {
			t.Fatal(err)
		}
		change(pk)
		return WriteZkey(context.Background(), path, pk, vk, multiply, nil)
	}
	keep := func(*groth16.ProvingKey) {}
	broken := errors.New("broken")
	for want, err := range map[string]error{
		"proving key: the quotient in form powers, expected odd coset: a zkey has no other": write(groth16.Powers, keep, groth16.Multiples),
		"proving key: points, expected the exponents that a set-up leaves": write(groth16.OddCoset, func(pk *groth16.ProvingKey) {
			pk.Exponents = false
			for s, size := range map[*groth16.Section]int{&pk.PointsA: 64, &pk.PointsB1: 64, &pk.PointsB2: 128, &pk.PointsC: 64, &pk.PointsH: 64} {
				*s = groth16.NewSection(make([]byte, s.Len()/32*size), nil)
			}
		}, groth16.Multiples),
		"broken": write(groth16.OddCoset, keep, func(groth16.Curve, groth16.Group, []byte, []byte) error { return broken }),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("error %v, expected %s", err, want)
		}
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file is there, or %v", err)
	}
}

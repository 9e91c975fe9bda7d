package gpu

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/groth16"
)

// synthetic is a made-up circuit with a key by exponents, in the form asked for.
func synthetic(t *testing.T, curve groth16.Curve, rows int, quotient groth16.Quotient) (*groth16.ProvingKey, *groth16.VerifyingKey, []byte) {
	t.Helper()
	c, witness, err := circuit.Synthetic{Curve: curve, Rows: rows, Public: 1, Zeros: 0.2, Ones: 0.3, Seed: 5}.Make(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := groth16.Setup(t.Context(), c, quotient)
	if err != nil {
		t.Fatal(err)
	}
	return pk, vk, witness
}

// Keys by exponents, in both forms, prove what they are for.
func TestCUDAExponents(t *testing.T) {
	r := newRig(t)
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		for _, quotient := range []groth16.Quotient{groth16.OddCoset, groth16.Powers} {
			t.Run(fmt.Sprintf("%v %v", curve, quotient), func(t *testing.T) {
				pk, vk, witness := synthetic(t, curve, 11, quotient)
				key, err := r.Load(t.Context(), pk)
				if err != nil {
					t.Fatal(err)
				}
				defer r.unload(key)
				if used := usedBy(t, r.card) - r.used; used != key.Bytes() {
					t.Errorf("%d bytes used, %d expected", used, key.Bytes())
				}
				proofs, err := r.prove(key, witness, witness)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range proofs {
					if err := vk.Verify(p, groth16.PublicFromWitness(witness, pk.Public)); err != nil {
						t.Errorf("proof %d: %v", i, err)
					}
				}
			})
		}
	}
}

// An exponent that isn't below the order ends the load, with all memory back.
func TestCUDABadExponent(t *testing.T) {
	r := newRig(t)
	pk, _, _ := synthetic(t, groth16.BN254, 5, groth16.Powers)
	words := bytes.Clone(pk.PointsB2.Unchecked())
	words[groth16.ScalarSize-1] = 0xff
	pk.PointsB2 = groth16.NewSection(words, nil)
	if _, err := r.Load(t.Context(), pk); err == nil || !strings.HasSuffix(err.Error(), "a scalar is not below the order of the group") {
		t.Errorf("error %v", err)
	}
	if used := usedBy(t, r.card); used != r.used {
		t.Errorf("%d bytes used, %d before", used, r.used)
	}
}

// The card's multiples of the generators are those of the CPU.
func TestCUDAMultiples(t *testing.T) {
	r := newRig(t)
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		for _, group := range []groth16.Group{groth16.G1, groth16.G2} {
			const n = 9
			scalars := make([]byte, n*groth16.ScalarSize)
			rand.Read(scalars)
			for i := range n {
				scalars[(i+1)*groth16.ScalarSize-1] &= 0x1f
			}
			clear(scalars[:groth16.ScalarSize])
			want, got := make([]byte, n*curve.PointSize(group)), make([]byte, n*curve.PointSize(group))
			if err := groth16.Multiples(curve, group, scalars, want); err != nil {
				t.Fatal(err)
			}
			var e cError
			if err := e.err(r.card.lib.multiples(r.card.handle, uint32(curve), uint32(group), &scalars[0], n, &got[0], &e)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%v, group %d: the card's points are others than the CPU's", curve, group)
			}
			scalars[len(scalars)-1] = 0xff
			if err := e.err(r.card.lib.multiples(r.card.handle, uint32(curve), uint32(group), &scalars[0], n, &got[0], &e)); err == nil {
				t.Errorf("%v, group %d: a scalar that isn't below the order is taken", curve, group)
			}
		}
	}
}

// Sums in several passes, and a plan of their own for the wires that are in B, give proofs too, within the bytes that were told.
func TestCUDAPassesAndSubsets(t *testing.T) {
	r := newRig(t)
	var set func(device uintptr, what int32, value uint64, e *cError) int32
	bind(&set, symbol(t, r.card, "pinion_software_set"))
	const plan, sparse = 3, 4 // PINION_PLAN, PINION_SPARSE
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		pk, vk, witness := synthetic(t, curve, 13, groth16.Powers)
		var keys []int64
		for _, change := range []struct {
			name         string
			plan, sparse uint64
		}{
			{"one pass, without points at infinity", 0, 1},
			{"several passes", 16 << 10, 1 << 30},
			{"as many as can be, without points at infinity", 1, 1},
		} {
			t.Run(fmt.Sprintf("%v %s", curve, change.name), func(t *testing.T) {
				var e cError
				if err := errors.Join(e.err(set(r.card.handle, plan, change.plan, &e)), e.err(set(r.card.handle, sparse, change.sparse, &e))); err != nil {
					t.Fatal(err)
				}
				key, err := r.Load(t.Context(), pk)
				if err != nil {
					t.Fatal(err)
				}
				defer r.unload(key)
				keys = append(keys, key.Bytes())
				if used := usedBy(t, r.card) - r.used; used != key.Bytes() {
					t.Errorf("%d bytes used, %d expected", used, key.Bytes())
				}
				proofs, err := r.prove(key, witness, witness)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range proofs {
					if err := vk.Verify(p, groth16.PublicFromWitness(witness, pk.Public)); err != nil {
						t.Errorf("proof %d: %v", i, err)
					}
				}
			})
		}
		if len(keys) == 3 && !(keys[0] > keys[1] && keys[1] > keys[2]) {
			t.Errorf("%v: with smaller plans keys take %d bytes", curve, keys)
		}
	}
}

// P2: what a circuit of 2^27 takes of a card like the H200, which has 139.8 GiB: beside the points, the matrices and the roots of unity,
// less than 40 GB.
func TestP2FootprintOfTheLargest(t *testing.T) {
	r := newRig(t)
	var set func(device uintptr, what int32, value uint64, e *cError) int32
	bind(&set, symbol(t, r.card, "pinion_software_set"))
	var e cError
	for what, value := range map[int32]uint64{1: 150_100_000_000, 2: 132} { // PINION_MEMORY, PINION_PROCESSORS
		if err := e.err(set(r.card.handle, what, value, &e)); err != nil {
			t.Fatal(err)
		}
	}
	const wires, domain, entries = 130_278_869, 1 << 27, 240_000_000
	column := groth16.NewSection(make([]byte, 4*entries), nil)
	pk := &groth16.ProvingKey{Curve: groth16.BLS12381, Vars: wires, Domain: domain, Rows: wires, Quotient: groth16.Powers, Exponents: true,
		Coefficients: groth16.NewSection(make([]byte, 2*groth16.ScalarSize), nil),
		A:            groth16.Matrix{Columns: column}, B: groth16.Matrix{Columns: column}}
	footprint, err := r.Footprint(pk)
	if err != nil {
		t.Fatal(err)
	}
	const points = (wires+2)*(3*96+192) + domain*96
	const matrices = 2 * (4*(wires+1) + 8*entries)
	const roots = 2 * domain * 32
	rest := footprint.Key - points - matrices - roots
	t.Logf("%.1f GB: points %.1f, matrices %.1f, roots %.1f, the rest %.1f", float64(footprint.Key)/1e9, points/1e9, matrices/1e9, roots/1e9, float64(rest)/1e9)
	if footprint.Key > 145e9 || rest > 40e9 || footprint.Batch != 1 {
		t.Errorf("footprint %+v, of which %d bytes are scratch", footprint, rest)
	}
}

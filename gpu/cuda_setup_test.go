package gpu

import (
	"bytes"
	"crypto/rand"
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

package groth16

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"testing"

	bn "github.com/consensys/gnark-crypto/ecc/bn254"
)

// C6: 1152 public signals, which others had no room for.
func TestC6ManyPublicSignals(t *testing.T) {
	const signals = 1152
	s := newStatement(t, 6, shape{curve: BN254, public: signals})
	proof := prove(t, s, Input{})
	if err := s.vk.Verify(proof, s.public()); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range signals {
		word := s.public()[i*ScalarSize : (i+1)*ScalarSize]
		want = append(want, fmt.Sprintf("%q", new(big.Int).SetBytes(word).String()))
	}
	text, err := s.public().MarshalJSON()
	if err != nil || string(text) != "["+strings.Join(want, ",")+"]" {
		t.Errorf("%v: public signals %.200s, expected [%.200s]", err, text, strings.Join(want, ","))
	}
	var again Public
	if err := json.Unmarshal(text, &again); err != nil || !bytes.Equal(again, s.public()) {
		t.Errorf("read back: %v", err)
	}
}

// C7: r added to a signal is the same element, and has let others spend twice. It is refused where it is read and where it is verified.
func TestC7SignalPlusR(t *testing.T) {
	for _, name := range []string{"merkle-bn128", "merkle-bls12381"} {
		vk, proof, public := samples(t)[name].decode(t)
		for i := range public.Len() {
			plusR := bytes.Clone(public)
			word := plusR[i*ScalarSize : (i+1)*ScalarSize]
			sum := new(big.Int).SetBytes(word)
			sum.Add(sum, vk.Curve().ScalarModulus())
			if sum.BitLen() > 8*ScalarSize {
				continue
			}
			sum.FillBytes(word)
			var out *PublicRangeError
			if err := vk.Verify(proof, plusR); !errors.As(err, &out) || out.Index != i {
				t.Errorf("%s: signal %d plus r: %v", name, i, err)
			}
		}
	}
}

// C16: whoever has a proof can make others of the same statement, so proof bytes name nothing. What holds the service to that is that
// jobs have ids of their own; this shows why.
func TestC16ProofsAreMalleable(t *testing.T) {
	vk, proof, public := samples(t)["merkle-bn128"].decode(t)
	var a, c bn.G1Affine
	var b bn.G2Affine
	raw := proof.Raw()
	for from, point := range map[int]interface{ SetBytes([]byte) (int, error) }{0: &a, 64: &b, 192: &c} {
		if _, err := point.SetBytes(raw[from:]); err != nil {
			t.Fatal(err)
		}
	}
	a.Neg(&a)
	b.Neg(&b)
	a1, b1, c1 := a.Bytes(), b.Bytes(), c.Bytes()
	again, err := ParseProof(BN254, slices.Concat(a1[:], b1[:], c1[:]))
	if err != nil {
		t.Fatal(err)
	}
	if err := vk.Verify(again, public); err != nil || bytes.Equal(again.Bytes(), proof.Bytes()) {
		t.Errorf("a proof with A and B negated: %v", err)
	}
}

// C18: snarkjs knows the curve by the name bn128 only.
func TestC18CurveInJSON(t *testing.T) {
	for name, want := range map[string]string{"mul": `"bn128"`, "merkle-bls12381": `"bls12381"`} {
		vk, proof, _ := samples(t)[name].decode(t)
		for _, value := range []any{vk, proof} {
			var out map[string]json.RawMessage
			text, err := json.Marshal(value)
			if err := errors.Join(err, json.Unmarshal(text, &out)); err != nil {
				t.Fatal(err)
			}
			if string(out["curve"]) != want {
				t.Errorf("%s: %T on curve %s, expected %s", name, value, out["curve"], want)
			}
		}
	}
}

// script is a source of randomness that says its lines first.
type script struct {
	lines []byte
	rest  io.Reader
}

func (s *script) Read(p []byte) (int, error) {
	if len(s.lines) == 0 {
		return s.rest.Read(p)
	}
	n := copy(p, s.lines)
	s.lines = s.lines[n:]
	return n, nil
}

// C19: the blinding factors are uniform below r: from crypto/rand, of all bits, and a number that isn't below r is drawn again. With r
// and s told, A = alpha + a + r delta is.
func TestC19BlindingIsUniform(t *testing.T) {
	s := newStatement(t, 19, shape{curve: BN254, public: 1, private: 3, products: 3})
	prover, err := NewProver(s.pk)
	if err != nil {
		t.Fatal(err)
	}
	system := rand.Reader
	t.Cleanup(func() { rand.Reader = system })
	r := BN254.ScalarModulus()
	montgomery := func(n int64) []byte {
		x := new(big.Int).Lsh(big.NewInt(n), 256)
		return littleEndian(x.Mod(x, r))
	}
	pointA := func(draws ...[]byte) (a bn.G1Affine) {
		t.Helper()
		source := &script{bytes.Join(draws, nil), system}
		rand.Reader = source
		proof, _, err := prover.Prove(context.Background(), Input{Witness: s.witness})
		if err != nil {
			t.Fatal(err)
		}
		if len(source.lines) > 0 {
			t.Errorf("%d bytes of randomness were not drawn", len(source.lines))
		}
		if err := s.vk.Verify(proof, s.public()); err != nil {
			t.Error(err)
		}
		if _, err := a.SetBytes(proof.Raw()); err != nil {
			t.Fatal(err)
		}
		return a
	}
	plain, minus := pointA(montgomery(0), montgomery(5)), pointA(littleEndian(r), montgomery(-1), montgomery(5))
	delta := make([]bn.G1Affine, 1)
	copy(memory(delta), s.pk.Delta1)
	var difference bn.G1Affine
	if difference.Sub(&plain, &minus); !difference.Equal(&delta[0]) {
		t.Error("r = 0 and r = -1, the largest there is, don't differ by delta")
	}
}

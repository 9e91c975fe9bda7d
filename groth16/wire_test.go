package groth16

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
)

// The proofs of docs/wire.md, in JSON and in bytes, are the same, and verify.
func TestVectorsOfTheDocumentation(t *testing.T) {
	doc, err := os.ReadFile("../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, curve := range []Curve{BN254, BLS12381} {
		m := regexp.MustCompile("<!-- vector: proof " + curve.String() + " -->\n```json\n([^`]+)```\n```\n([^`]+)```\n").FindSubmatch(doc)
		if m == nil {
			t.Errorf("docs/wire.md has no proof on %s", curve)
			continue
		}
		var proof Proof
		if err := json.Unmarshal(m[1], &proof); err != nil {
			t.Fatal(err)
		}
		if got, want := hex.EncodeToString(proof.Bytes()), strings.Join(strings.Fields(string(m[2])), ""); got != want {
			t.Errorf("%s: the bytes are\n%s, the documentation says\n%s", curve, got, want)
			continue
		}
		again, err := ParseProof(curve, proof.Bytes())
		if err != nil || !reflect.DeepEqual(again, &proof) {
			t.Errorf("%s: the bytes are the proof %+v, error %v", curve, again, err)
		}
		key, public := vectorKey(t, curve)
		if err := key.Verify(&proof, public); err != nil {
			t.Error(err)
		}
	}
}

// vectorKey is the key that the documentation's proof is of, and its public signals.
func vectorKey(t *testing.T, curve Curve) (key VerifyingKey, public Public) {
	t.Helper()
	for file, to := range map[string]any{circuits.VerificationKey: &key, circuits.Public: &public} {
		data, err := circuits.File("multiplier", curve.String(), file)
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return key, public
}

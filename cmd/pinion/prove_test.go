package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
)

// Each example circuit on each curve: proved by name from the witness and from the inputs, and by its zkey; the proof verifies and
// has the public signals that snarkjs computed.
func TestProveAndVerify(t *testing.T) {
	for _, name := range circuits.Names {
		for _, curve := range circuits.Curves {
			witness := []string{"--witness", exampleFile(name, curve, circuits.Witness)}
			ways := map[string][]string{
				"witness": append([]string{name + "-" + curve}, witness...),
				"inputs":  {name + "-" + curve, "--input", inputs(t, name)},
				"zkey":    append([]string{"--zkey", exampleFile(name, curve, circuits.Zkey)}, witness...),
			}
			for way, args := range ways {
				t.Run(name+"/"+curve+"/"+way, func(t *testing.T) {
					dir := t.TempDir()
					proof, public := filepath.Join(dir, "proof.json"), filepath.Join(dir, "public.json")
					must(t, pinion(t, nil, append([]string{"prove", "--proof", proof, "--public", public}, args...)...))
					if out := must(t, verify(t, name, curve, proof, public)); out != "valid\n" {
						t.Errorf("printed %q", out)
					}
					if !sameSignals(t, public, exampleFile(name, curve, circuits.Public)) {
						t.Error("other public signals than snarkjs's")
					}
					if !bytes.Contains(read(t, proof), []byte(`"curve": "`+curve+`"`)) { // C18
						t.Errorf("%s", read(t, proof))
					}
				})
			}
		}
	}
}

func verify(t *testing.T, name, curve, proof, public string, more ...string) outcome {
	t.Helper()
	return pinion(t, nil, append([]string{"verify", "--vkey", exampleFile(name, curve, circuits.VerificationKey), "--public", public, "--proof", proof}, more...)...)
}

func sameSignals(t *testing.T, a, b string) bool {
	t.Helper()
	var x, y []string
	if err := json.Unmarshal(read(t, a), &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(read(t, b), &y); err != nil {
		t.Fatal(err)
	}
	return strings.Join(x, ",") == strings.Join(y, ",")
}

// The compressed bytes of a proof, as gnark and bellman write them, are read back, and turned into JSON again.
func TestProofBytes(t *testing.T) {
	for curve, size := range map[string]int{"bn128": 128, "bls12381": 192} {
		public := exampleFile("merkle", curve, circuits.Public)
		compressed := filepath.Join(t.TempDir(), "proof.bin")
		must(t, verify(t, "merkle", curve, exampleFile("merkle", curve, circuits.Proof), public, "--write", compressed))
		if n := len(read(t, compressed)); n != size {
			t.Errorf("%s: %d bytes, expected %d", curve, n, size)
		}
		again := filepath.Join(t.TempDir(), "proof.json")
		must(t, verify(t, "merkle", curve, compressed, public, "--write", again))
		must(t, verify(t, "merkle", curve, again, public))
	}
}

func TestCalldata(t *testing.T) {
	files := func(curve string) (string, string) {
		return exampleFile("multiplier", curve, circuits.Proof), exampleFile("multiplier", curve, circuits.Public)
	}
	proof, public := files("bn128")
	out := must(t, verify(t, "multiplier", "bn128", proof, public, "--calldata"))
	if !strings.HasPrefix(out, `["0x`) || strings.Count(out, "0x") != 9 {
		t.Errorf("%s", out)
	}
	proof, public = files("bls12381")
	if o := verify(t, "multiplier", "bls12381", proof, public, "--calldata"); o.code != exitInput {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// The key that the catalogue exports verifies snarkjs's proof.
func TestExport(t *testing.T) {
	vkey := filepath.Join(t.TempDir(), "vkey.json")
	must(t, pinion(t, nil, "circuit", "export", "commit-bls12381", "--vkey", vkey))
	must(t, pinion(t, nil, "verify", "--vkey", vkey, "--proof", exampleFile("commit", "bls12381", circuits.Proof), "--public", exampleFile("commit", "bls12381", circuits.Public)))
}

// A key that lost its file, before it is used.
func TestKeyRemoved(t *testing.T) { // P6
	dir := t.TempDir()
	env := []string{"PINION_CIRCUITS=" + dir}
	must(t, pinion(t, env, "circuit", "add", "m", "--zkey", exampleFile("multiplier", "bn128", circuits.Zkey)))
	if err := os.Remove(filepath.Join(dir, "m", "key.pinion")); err != nil {
		t.Fatal(err)
	}
	o := pinion(t, env, "prove", "m", "--witness", exampleFile("multiplier", "bn128", circuits.Witness))
	if o.code != exitInput || !strings.Contains(o.stderr, "key.pinion: no such file or directory") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
)

// setUpCircuit makes a circuit in a catalogue of its own, and proves it on the same device.
func setUpCircuit(t *testing.T, env []string, name, witness string, args ...string) {
	t.Helper()
	env = append(env, "PINION_CIRCUITS="+t.TempDir())
	o := pinion(t, env, append([]string{"circuit", "setup", "--insecure", name}, args...)...)
	must(t, o)
	if want := "pinion: warning: the key of " + name + " has no phase-2 contribution (gamma = delta): anyone can forge proofs; " +
		"serve refuses it unless PINION_ALLOW_FORGEABLE names it\n"; o.stderr != want {
		t.Errorf("warning %swant %s", o.stderr, want)
	}
	dir := t.TempDir()
	vkey, proof, public := filepath.Join(dir, "vkey.json"), filepath.Join(dir, "proof.json"), filepath.Join(dir, "public.json")
	prove := []string{"prove", name, "--witness", witness, "--proof", proof, "--public", public}
	if o := pinion(t, env, prove...); o.code != exitRefused || !strings.HasPrefix(o.stderr, "pinion: forgeable_circuit: ") {
		t.Errorf("not allowed by name: exit code %d, %s", o.code, o.stderr)
	}
	must(t, pinion(t, append(env, "PINION_ALLOW_FORGEABLE="+name), prove...))
	must(t, pinion(t, env, "circuit", "export", name, "--vkey", vkey))
	if out := must(t, pinion(t, nil, "verify", "--vkey", vkey, "--proof", proof, "--public", public)); out != "valid\n" {
		t.Errorf("printed %q", out)
	}
}

func TestSetupOfR1CS(t *testing.T) {
	const name = "multiplier" // package circuit sets up the others too
	for _, curve := range circuits.Curves {
		t.Run(curve, func(t *testing.T) {
			setUpCircuit(t, []string{"PINION_DEVICE=cpu"}, "own", exampleFile(name, curve, circuits.Witness),
				"--r1cs", exampleFile(name, curve, circuits.R1CS), "--wasm", exampleFile(name, curve, circuits.Wasm))
		})
	}
}

func TestSetupOfSyntheticCircuit(t *testing.T) {
	devices := map[string][]string{"cpu": {"PINION_DEVICE=cpu"}}
	if library, err := filepath.Abs(filepath.Join("..", "..", "build", "libpinion_software.so")); err == nil {
		if _, err := os.Stat(library); err == nil {
			devices["software"] = []string{"PINION_DEVICE=cuda:0", "PINION_CUDA_LIB=" + library}
		}
	}
	for device, env := range devices {
		for _, curve := range circuits.Curves {
			t.Run(device+"/"+curve, func(t *testing.T) {
				dir := t.TempDir()
				witness, zkey := filepath.Join(dir, "w.wtns"), filepath.Join(dir, "out.zkey")
				setUpCircuit(t, env, "made", witness, "--synthetic", "2^4", "--curve", curve, "--public", "2",
					"--zeros", "0.4", "--ones", "0.3", "--seed", "9", "--witness", witness, "--out", zkey)
				must(t, pinion(t, nil, "circuit", "check", "--zkey", zkey))
			})
		}
	}
}

func TestSetupRefuses(t *testing.T) {
	synthetic := func(more ...string) []string { return append([]string{"--insecure", "x", "--synthetic", "8"}, more...) }
	r1cs := exampleFile("multiplier", "bn128", circuits.R1CS)
	prime := read(t, exampleFile("multiplier", "bn128", circuits.Witness))[28:60]
	data := read(t, r1cs)
	otherPrime := write(t, "prime.r1cs", change(data, fill(bytes.Index(data, prime), 32, 7)))
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"x", "--synthetic", "8"}, exitUsage, whyInsecure},
		{[]string{"--insecure", "x"}, exitUsage, "missing flags: --r1cs=F or --synthetic=N"},
		{synthetic("--r1cs", r1cs), exitUsage, "--r1cs and --synthetic can't be used together"},
		{synthetic("--wasm", "w"), exitUsage, "--wasm goes with --r1cs"},
		{[]string{"--insecure", "x", "--r1cs", r1cs, "--seed", "0"}, exitUsage, "--curve, --public, --zeros, --ones, --seed and --witness go with --synthetic"},
		{[]string{"--insecure", "x", "--synthetic", "3^2"}, exitUsage, `--synthetic: found "3^2", expected a number, or a power of two like 2^20`},
		{synthetic("--curve", "secp256k1"), exitUsage, `unknown curve "secp256k1": expected bn128 or bls12381`},
		{synthetic("--public", "7"), exitUsage, "synthetic circuit: 8 rows with 7 public wires, expected at least two more than these, and at most 268435456"},
		{[]string{"--insecure", "multiplier-bn128", "--synthetic", "8"}, exitInput, "circuit multiplier-bn128: a circuit of this name is there already: remove it first"},
		{[]string{"--insecure", "a/b", "--synthetic", "8"}, exitInput, `circuit name "a/b": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{[]string{"--insecure", "x", "--r1cs", otherPrime}, exitInput, "prime.r1cs: section 1 at byte 160: found an unknown prime, expected that of bn128 or bls12381"},
		{[]string{"--insecure", "x", "--r1cs", "/nonexistent/c.r1cs"}, exitInput, "open /nonexistent/c.r1cs: no such file or directory"},
	} {
		o := pinion(t, []string{"PINION_DEVICE=cpu"}, append([]string{"circuit", "setup"}, test.args...)...)
		if want := "pinion: " + test.want + "\n"; o.code != test.code || o.stderr != want {
			t.Errorf("%v: exit code %d\n got: %swant: %s", test.args, o.code, o.stderr, want)
		}
	}
}

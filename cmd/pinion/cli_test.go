package main

import (
	"encoding/json"
	"io"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/service"
)

func TestUsage(t *testing.T) {
	tests := []struct {
		args []string
		env  string
		want string
	}{
		{[]string{"frobnicate"}, "", `unexpected argument frobnicate`},
		{[]string{"serve", "--fast"}, "", `unknown flag --fast`},
		{[]string{"serve"}, "PINION_JOBS=0", `PINION_JOBS: found "0", expected auto, or a whole number from 1 to 256`},
		{[]string{"serve"}, "PINION_DEVICE=cuda", `PINION_DEVICE: found "cuda", expected auto, cpu, or cuda:N for CUDA device number N`}, // P6
		{[]string{"serve"}, "OTEL_TRACES_EXPORTER=zipkin", `telemetry: OTEL_TRACES_EXPORTER: found "zipkin", expected otlp or none`},
		{[]string{"serve"}, "OTEL_EXPORTER_OTLP_PROTOCOL=http/json", `telemetry: OTEL_EXPORTER_OTLP_PROTOCOL: found "http/json", expected grpc or http/protobuf`},
		{[]string{"provision"}, "PINION_NATS_CREDS=/nonexistent/creds", `PINION_NATS_CREDS: /nonexistent/creds: no such file or directory, expected a file with a user's JWT and seed`},
		{[]string{"provision"}, "PINION_NATS_TLS_CA=/nonexistent/ca", `PINION_NATS_TLS_CA: /nonexistent/ca: no such file or directory, expected a PEM file with certificates`},
		{[]string{"circuit", "list"}, "PINION_CIRCUIT=/c", `PINION_CIRCUIT: unknown variable; did you mean PINION_CIRCUITS?`},
		{[]string{"prove", "c"}, "", `give --witness or --input`},
		{[]string{"prove", "--witness", "w"}, "", `give the name of a circuit, or --zkey`},
		{[]string{"prove", "c", "--zkey", "k", "--witness", "w"}, "", `give the name of a circuit, or --zkey`},
		{[]string{"prove", "c", "--witness", "w", "--input", "i"}, "", `--witness and --input can't be used together`},
		{[]string{"prove", "--zkey", "k", "--input", "i"}, "", `--input needs a circuit of the catalogue; give --witness with --zkey`},
		{[]string{"prove", "a/b", "--witness", exampleFile("multiplier", "bn128", circuits.Witness)}, "", `circuit name "a/b": expected 1 to 64 of A-Z, a-z, 0-9, _ and -`},
		{[]string{"submit", "c"}, "", `missing flags: --witness=F or --input=F`},
		{[]string{"submit", "c", "--witness", "w", "--proof", "p"}, "", `--proof and --public go with --wait`},
		{[]string{"jobs", "list", "--dead", "--state", "done"}, "", `--dead and --state can't be used together`},
		{[]string{"workers", "pause"}, "", `give the names of workers, or --all`},
		{[]string{"workers", "drain", "w", "--all"}, "", `give the names of workers, or --all`},
		{[]string{"workers", "pause", "--all", "--for=-1h"}, "", `--for: found -1h0m0s, expected more than 0`},
		{[]string{"circuit", "check"}, "", `give the name of a circuit, or --zkey`},
		{[]string{"provision", "--replace"}, "", `--replace goes with --circuits`},
		{[]string{"provision"}, "PINION_NATS=embedded", `PINION_NATS=embedded: pinion serve provisions its own broker`},
		{[]string{"demo", "--jobs", "0"}, "", `--jobs: found 0, expected 1 to 10000`},
	}
	for _, test := range tests {
		t.Run(strings.Join(append(test.args, test.env), " "), func(t *testing.T) {
			var env []string
			if test.env != "" {
				env = []string{test.env}
			}
			o := pinion(t, env, test.args...)
			if want := "pinion: " + test.want + "\n"; o.code != exitUsage || o.stderr != want {
				t.Errorf("exit code %d\n got: %swant: %s", o.code, o.stderr, want)
			}
		})
	}
}

// The help of serve has every variable, as service prints them, and the root's help the exit codes.
func TestHelp(t *testing.T) {
	help := must(t, pinion(t, nil, "serve", "--help"))
	for _, k := range service.Keys() {
		if !strings.Contains(help, k.Name) || !strings.Contains(help, k.Doc) {
			t.Errorf("no %s in:\n%s", k.Name, help)
		}
	}
	root := must(t, pinion(t, nil, "--help"))
	if bare := must(t, pinion(t, nil)); bare != root {
		t.Errorf("pinion alone prints:\n%s", bare)
	}
	words := strings.Join(strings.Fields(root), " ")
	if !strings.Contains(words, exitHelp) {
		t.Errorf("no exit codes in:\n%s", words)
	}
}

// A flipped bit in the proof, a changed public signal, a signal with r added (C7), and one signal more: all refused.
func TestVerifyRefuses(t *testing.T) {
	var signals []string
	if err := json.Unmarshal(read(t, exampleFile("merkle", "bn128", circuits.Public)), &signals); err != nil {
		t.Fatal(err)
	}
	first, _ := new(big.Int).SetString(signals[0], 10)
	with := func(first *big.Int, more ...string) string {
		text, err := json.Marshal(append(append([]string{first.String()}, signals[1:]...), more...))
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "public.json", text)
	}
	plus := func(n *big.Int) *big.Int { return new(big.Int).Add(first, n) }
	proof, public := exampleFile("merkle", "bn128", circuits.Proof), exampleFile("merkle", "bn128", circuits.Public)
	changed := func(edit func(points map[string]any)) string {
		var points map[string]any
		if err := json.Unmarshal(read(t, proof), &points); err != nil {
			t.Fatal(err)
		}
		edit(points)
		text, err := json.Marshal(points)
		if err != nil {
			t.Fatal(err)
		}
		return write(t, "proof.json", text)
	}
	swapped := changed(func(points map[string]any) { points["pi_c"] = points["pi_a"] })
	shifted := changed(func(points map[string]any) { points["pi_a"].([]any)[0] = "1" })
	tests := []struct {
		name, proof, public string
		code                int
		want                string
	}{
		{"valid", proof, public, exitOK, ``},
		{"another signal", proof, with(plus(big.NewInt(1))), exitRefused, `invalid proof`},
		{"signal of r and more", proof, with(plus(groth16.BN254.ScalarModulus())), exitInput, `public signal 0 is not below the order of the scalar field`},
		{"a signal too many", proof, with(first, "1"), exitInput, `4 public signals, expected 3`},
		{"another point", swapped, public, exitRefused, `invalid proof`},
		{"a point off the curve", shifted, public, exitInput, `proof.json: proof: pi_a: not on the curve`},
		{"a proof on another curve", exampleFile("merkle", "bls12381", circuits.Proof), public, exitInput, `a proof on bls12381, expected bn128`},
		{"bytes that are no proof", write(t, "proof.bin", make([]byte, 100)), public, exitInput, `proof.bin: bn128 proof: 100 bytes, expected 128`},
		{"no file", "/nonexistent/proof.json", public, exitInput, `open /nonexistent/proof.json: no such file or directory`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := verify(t, "merkle", "bn128", test.proof, test.public)
			want := ""
			if test.want != "" {
				want = "pinion: " + test.want + "\n"
			}
			if o.code != test.code || o.stderr != want {
				t.Errorf("exit code %d, want %d\n got: %swant: %s", o.code, test.code, o.stderr, want)
			}
		})
	}
}

// A key without phase-2 contribution is taken into the catalogue, with a warning, and used for no proof unless it is allowed by name. (C8)
func TestForgeableKey(t *testing.T) {
	env := []string{"PINION_CIRCUITS=" + filepath.Join(t.TempDir(), "c")}
	o := pinion(t, env, "circuit", "add", "loose", "--zkey", exampleFile("multiplier", "bn128", circuits.Forgeable))
	if want := "pinion: warning: the key of loose has no phase-2 contribution (gamma = delta): anyone can forge proofs; serve refuses it unless PINION_ALLOW_FORGEABLE names it\n"; o.code != exitOK || o.stderr != want {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if out := must(t, pinion(t, env, "circuit", "list")); !strings.Contains(out, "FORGEABLE") {
		t.Errorf("not marked:\n%s", out)
	}
	args := []string{"prove", "loose", "--witness", exampleFile("multiplier", "bn128", circuits.Witness)}
	if o := pinion(t, env, args...); o.code != exitRefused {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	must(t, pinion(t, append(env, "PINION_ALLOW_FORGEABLE=loose"), args...))
	zkey := exampleFile("multiplier", "bn128", circuits.Forgeable)
	o = pinion(t, env, "prove", "--zkey", zkey, "--witness", exampleFile("multiplier", "bn128", circuits.Witness))
	if want := "pinion: warning: " + zkey + " has no phase-2 contribution (gamma = delta): anyone can forge proofs\n"; o.code != exitOK || o.stderr != want {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// What machines read is JSON and nothing else.
func TestJSON(t *testing.T) {
	witness := exampleFile("merkle", "bn128", circuits.Witness)
	commands := map[string][]string{
		"name":    {"circuit", "inspect", "merkle-bn128"},
		"digest":  {"circuit", "check", "--zkey", exampleFile("merkle", "bn128", circuits.Zkey)},
		"entries": {"circuit", "check", "merkle-bn128"},
		"ms":      {"prove", "merkle-bn128", "--witness", witness},
		"signals": {"prove", "--zkey", exampleFile("merkle", "bn128", circuits.Zkey), "--witness", witness},
		"valid":   {"verify", "--vkey", exampleFile("merkle", "bn128", circuits.VerificationKey), "--public", exampleFile("merkle", "bn128", circuits.Public), "--proof", exampleFile("merkle", "bn128", circuits.Proof)},
	}
	for key, args := range commands {
		var answer map[string]any
		out := must(t, pinion(t, nil, append(args, "--json")...))
		if err := json.Unmarshal([]byte(out), &answer); err != nil || answer[key] == nil {
			t.Errorf("%s: %v in %s", strings.Join(args, " "), err, out)
		}
	}
	var list []map[string]any
	if err := json.Unmarshal([]byte(must(t, pinion(t, nil, "circuit", "list", "--json"))), &list); err != nil || len(list) != 8 {
		t.Errorf("%v: %d circuits", err, len(list))
	}
}

// A bar draws on a terminal only.
func TestNoBarWithoutTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, stderr := range []io.Writer{file, io.Discard} {
		bar := (&app{stderr: stderr}).bar()
		bar.report("points", 1, 2)
		bar.close()
	}
	if text := read(t, file.Name()); len(text) != 0 {
		t.Errorf("%q", text)
	}
}

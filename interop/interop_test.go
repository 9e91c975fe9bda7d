//go:build interop

package interop_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/interop"
)

var (
	fetched *interop.Fetched
	pinion  string // path of the binary
)

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "pinion-interop")
	if err == nil {
		defer os.RemoveAll(dir)
		fetched, err = interop.Open()
	}
	if err == nil {
		pinion, err = interop.BuildPinion(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// TestPublished: circuits that other people made, with their keys.
func TestPublished(t *testing.T) {
	for _, name := range interop.Published {
		t.Run(name, func(t *testing.T) { exchange(t, fetched.Circuit(name)) })
	}
}

// TestExamples: our own circuits, for the other curve too.
func TestExamples(t *testing.T) {
	for _, curve := range circuits.Curves {
		for _, name := range circuits.Names {
			t.Run(name+"/"+curve, func(t *testing.T) {
				dir := t.TempDir()
				if err := circuits.Extract(dir, name, curve); err != nil {
					t.Fatal(err)
				}
				input, err := circuits.Input(name)
				if err != nil {
					t.Fatal(err)
				}
				c := interop.Circuit{
					Name:  name + "-" + curve,
					Zkey:  filepath.Join(dir, circuits.Zkey),
					Wasm:  filepath.Join(dir, circuits.Wasm),
					Input: filepath.Join(dir, "input.json"),
				}
				write(t, c.Input, input)
				exchange(t, c)
			})
		}
	}
}

// TestSetup: keys that pinion makes.
func TestSetup(t *testing.T) {
	const name = "multiplier"
	for _, curve := range circuits.Curves {
		t.Run(curve, func(t *testing.T) {
			dir := t.TempDir()
			if err := circuits.Extract(dir, name, curve); err != nil {
				t.Fatal(err)
			}
			input, err := circuits.Input(name)
			if err != nil {
				t.Fatal(err)
			}
			c := interop.Circuit{Name: "own", Zkey: filepath.Join(dir, "own.zkey"), Wasm: filepath.Join(dir, circuits.Wasm), Input: filepath.Join(dir, "input.json")}
			write(t, c.Input, input)
			t.Setenv("PINION_CIRCUITS", filepath.Join(dir, "catalogue"))
			must(t, []string{pinion, "circuit", "setup", "--insecure", c.Name, "--r1cs", filepath.Join(dir, circuits.R1CS), "--out", c.Zkey})
			t.Setenv("PINION_ALLOW_FORGEABLE", c.Name)
			exchange(t, c)
		})
	}
}

// exchange shows that pinion and snarkjs take each other's work for one circuit, and
// that pinion refuses all of it once a bit has flipped.
func exchange(t *testing.T, c interop.Circuit) {
	dir := t.TempDir()
	t.Setenv("PINION_CIRCUITS", filepath.Join(dir, "catalogue"))
	path := func(name string) string { return filepath.Join(dir, name) }
	vkey, witness := path("vkey.json"), path("witness.wtns")
	ours, ourPublic := path("ours.json"), path("ours.public.json")
	theirs, theirPublic := path("theirs.json"), path("theirs.public.json")

	must(t, fetched.Snarkjs("zkey", "export", "verificationkey", c.Zkey, vkey))
	must(t, fetched.Snarkjs("wtns", "calculate", c.Wasm, c.Input, witness))
	must(t, fetched.Snarkjs("groth16", "prove", c.Zkey, witness, theirs, theirPublic))
	must(t, []string{pinion, "circuit", "add", c.Name, "--zkey", c.Zkey, "--wasm", c.Wasm})

	if !bytes.Equal(calculate(t, c), read(t, witness)) {
		t.Error("pinion's witness differs from the one of snarkjs")
	}

	ourKey := path("ours.vkey.json")
	must(t, []string{pinion, "circuit", "export", c.Name, "--vkey", ourKey})
	if !sameJSON(t, read(t, ourKey), read(t, vkey)) {
		t.Error("pinion's verification key differs from the one of snarkjs")
	}

	must(t, []string{pinion, "prove", c.Name, "--witness", witness, "--proof", ours, "--public", ourPublic})
	must(t, fetched.Snarkjs("groth16", "verify", vkey, ourPublic, ours))
	must(t, []string{pinion, "prove", c.Name, "--input", c.Input, "--proof", ours, "--public", ourPublic})
	must(t, fetched.Snarkjs("groth16", "verify", vkey, ourPublic, ours))
	if !sameJSON(t, read(t, ourPublic), read(t, theirPublic)) {
		t.Error("pinion's public signals differ from those of snarkjs")
	}

	verify := func(public, proof string) []string {
		return []string{pinion, "verify", "--vkey", vkey, "--public", public, "--proof", proof}
	}
	must(t, verify(ourPublic, ours))
	must(t, verify(theirPublic, theirs))

	for _, point := range []string{"pi_a", "pi_b", "pi_c"} {
		flipped := path("flipped.json")
		write(t, flipped, flipProof(t, read(t, theirs), point))
		refuse(t, "proof with a flipped bit in "+point, verify(theirPublic, flipped))
	}
	swapped := path("swapped.json")
	write(t, swapped, swapProof(t, read(t, theirs)))
	refuse(t, "proof with A and C swapped", verify(theirPublic, swapped))

	flipped := path("flipped.json")
	write(t, flipped, flipPublic(t, read(t, theirPublic)))
	refuse(t, "flipped bit in a public signal", verify(flipped, theirs))

	words := read(t, witness)
	for _, i := range []int{1, (len(words)/32 - 2) / 2} { // the first output, a wire in the middle
		flipped := path("flipped.wtns")
		write(t, flipped, flipWitness(words, i))
		refuse(t, fmt.Sprintf("witness with a flipped bit in element %d", i), []string{
			pinion, "prove", c.Name, "--witness", flipped, "--proof", path("none.json"), "--public", path("none.public.json"),
		})
		if _, err := os.Stat(path("none.json")); err == nil {
			t.Error("a proof was written for a bad witness")
		}
	}
}

// calculate computes the witness by pinion's calculator, as a .wtns file.
func calculate(t *testing.T, c interop.Circuit) []byte {
	calculator, err := circuit.NewCalculator(t.Context(), read(t, c.Wasm), circuit.CalculatorOptions{CacheDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer calculator.Close(t.Context())
	words := make([]byte, 32*calculator.Vars())
	if err := calculator.Calculate(t.Context(), read(t, c.Input), words); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := circuit.EncodeWtns(&file, calculator.Curve(), words); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// flipProof flips the lowest bit of a coordinate of one point.
func flipProof(t *testing.T, proof []byte, point string) []byte {
	fields := map[string]any{}
	decode(t, proof, &fields)
	coordinates := fields[point].([]any)
	if pair, ok := coordinates[0].([]any); ok {
		coordinates = pair
	}
	coordinates[0] = flipDecimal(t, coordinates[0].(string))
	return encode(t, fields)
}

// swapProof keeps all points on the curve, in the wrong places.
func swapProof(t *testing.T, proof []byte) []byte {
	fields := map[string]any{}
	decode(t, proof, &fields)
	fields["pi_a"], fields["pi_c"] = fields["pi_c"], fields["pi_a"]
	return encode(t, fields)
}

// flipPublic flips the lowest bit of the last public signal.
func flipPublic(t *testing.T, public []byte) []byte {
	var signals []string
	decode(t, public, &signals)
	last := len(signals) - 1
	signals[last] = flipDecimal(t, signals[last])
	return encode(t, signals)
}

// flipWitness flips the lowest bit of one element of a .wtns file, whose elements
// are its last bytes after a header of 76.
func flipWitness(file []byte, element int) []byte {
	flipped := bytes.Clone(file)
	flipped[76+32*element] ^= 1
	return flipped
}

func flipDecimal(t *testing.T, s string) string {
	n, ok := new(big.Int).SetString(s, 10)
	if !ok {
		t.Fatalf("%q is no number", s)
	}
	return n.SetBit(n, 0, 1-n.Bit(0)).String()
}

// must runs a command that has to succeed and returns its standard output.
func must(t *testing.T, command []string) string {
	t.Helper()
	out, stderr, err := output(t, command)
	if err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(command, " "), err, out, stderr)
	}
	return out
}

// Exit codes of pinion for what it refuses: bad input, and an invalid proof.
const exitInput, exitRefused = 3, 4

// refuse runs a command that has to fail because of what it was given.
func refuse(t *testing.T, what string, command []string) {
	t.Helper()
	_, stderr, err := output(t, command)
	var exit *exec.ExitError
	switch {
	case err == nil:
		t.Errorf("%s: accepted by %s", what, strings.Join(command, " "))
	case !errors.As(err, &exit) || exit.ExitCode() != exitInput && exit.ExitCode() != exitRefused:
		t.Errorf("%s: %v, expected exit status %d or %d\n%s", what, err, exitInput, exitRefused, stderr)
	default:
		t.Logf("%s: %s", what, strings.TrimSpace(stderr))
	}
}

func output(t *testing.T, command []string) (stdout, stderr string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	decode(t, a, &x)
	decode(t, b, &y)
	return reflect.DeepEqual(x, y)
}

func decode(t *testing.T, data []byte, v any) {
	t.Helper()
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatal(err)
	}
}

func encode(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

//go:build interop

package interop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
)

// TestJavaScriptProducer: examples/js, which knows only docs/wire.md, has circuits proven by a worker and the proofs verified by snarkjs.
func TestJavaScriptProducer(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	t.Setenv("PINION_CIRCUITS", path("catalogue"))
	published := fetched.Circuit("authV2") // with a witness of 1.5 MB, which goes into the object bucket
	add := func(name, zkey, wasm string) {
		must(t, []string{pinion, "circuit", "add", name, "--zkey", zkey, "--wasm", wasm})
		must(t, []string{pinion, "circuit", "export", name, "--vkey", path(name + ".vkey")})
	}
	add("authV2", published.Zkey, published.Wasm)
	for _, curve := range circuits.Curves {
		if err := circuits.Extract(path(curve), "merkle", curve); err != nil {
			t.Fatal(err)
		}
		add("merkle-"+curve, path(curve+"/"+circuits.Zkey), path(curve+"/"+circuits.Wasm))
	}
	input, err := circuits.Input("merkle")
	if err != nil {
		t.Fatal(err)
	}
	write(t, path("merkle.json"), input)
	t.Setenv("PINION_NATS", serve(t))

	produce := func(circuit, id string, more ...string) []string {
		return fetched.Producer(append([]string{circuit, "--id", id, "--vkey", path(circuit + ".vkey"), "--proof", path(id + ".proof"), "--public", path(id + ".public")}, more...)...)
	}
	verify := func(circuit, id string) {
		must(t, []string{pinion, "verify", "--vkey", path(circuit + ".vkey"), "--public", path(id + ".public"), "--proof", path(id + ".proof")})
	}
	t.Run("published", func(t *testing.T) {
		must(t, produce("authV2", "a", "--input", published.Input, "--wasm", published.Wasm))
		verify("authV2", "a")
	})
	for _, curve := range circuits.Curves {
		t.Run(curve, func(t *testing.T) {
			name, id := "merkle-"+curve, "b-"+curve
			must(t, produce(name, id, "--input", path("merkle.json"), "--wasm", path(curve+"/"+circuits.Wasm), "--priority", "high", "--deadline", "2099-01-01T00:00:00Z"))
			verify(name, id)
			if !sameJSON(t, read(t, path(id+".public")), read(t, path(curve+"/"+circuits.Public))) {
				t.Error("other public signals than those of snarkjs")
			}
		})
	}
	t.Run("again", func(t *testing.T) { // is the same job: another proof would have another blinding
		witness := []string{"--witness", path("bn128/" + circuits.Witness)}
		must(t, produce("merkle-bn128", "c", witness...))
		first := read(t, path("c.proof"))
		must(t, produce("merkle-bn128", "c", witness...))
		if !bytes.Equal(first, read(t, path("c.proof"))) {
			t.Error("another proof under the same id")
		}
	})
	t.Run("taken", func(t *testing.T) {
		refused(t, produce("merkle-bls12381", "c", "--witness", path("bls12381/"+circuits.Witness)), "prove.js: the id c belongs to another job\n")
	})
	t.Run("refused", func(t *testing.T) {
		write(t, path("flipped.wtns"), flipWitness(read(t, path("bn128/"+circuits.Witness)), 1))
		refused(t, produce("merkle-bn128", "d", "--witness", path("flipped.wtns")), "prove.js: job d failed: invalid_witness: ")
	})
}

// serve runs a broker with a worker until the test ends, and returns the broker's address.
func serve(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(pinion, "serve")
	cmd.Env = append(cmd.Environ(), "PINION_NATS=embedded", "PINION_LISTEN=127.0.0.1:0", "PINION_HTTP=off", "PINION_DATA="+t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines, ready := bufio.NewScanner(stderr), make(chan string, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			var line struct{ Msg, Broker string }
			if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "worker ready" {
				ready <- line.Broker
			}
		}
		_ = cmd.Wait() // killed, or its end is noticed below
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	select {
	case broker := <-ready:
		return broker
	case <-ended:
		t.Fatalf("pinion serve: %v", cmd.ProcessState)
	}
	return ""
}

// refused runs a command that has to fail with a message.
func refused(t *testing.T, command []string, want string) {
	t.Helper()
	_, stderr, err := output(t, command)
	if err == nil || !strings.Contains(stderr, want) {
		t.Errorf("%s: %v, expected %q\n%s", strings.Join(command, " "), err, want, stderr)
	}
}

//go:build interop

package interop_test

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/interop"
)

// TestJavaScriptVectors: another language's msgpack, and its arithmetic, write and read what docs/wire.md says.
func TestJavaScriptVectors(t *testing.T) {
	if out := must(t, fetched.Example("vectors.js", filepath.Join(interop.Root(), "docs", "wire.md"))); out != "9 vectors\n" {
		t.Errorf("printed %q", out)
	}
}

// TestJavaScriptProducer: examples/js, which knows only docs/wire.md, has circuits proven by a worker and the proofs verified by snarkjs;
// on a broker with the roles of deploy/nats-roles.conf, as a producer.
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
	as := roles(t)
	as("operator")
	must(t, []string{pinion, "provision", "--circuits"})
	as("worker")
	serve(t)
	as("producer")

	produce := func(circuit, id string, more ...string) []string {
		return fetched.Example("prove.js", append([]string{circuit, "--id", id, "--vkey", path(circuit + ".vkey"), "--proof", path(id + ".proof"), "--public", path(id + ".public")}, more...)...)
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

// roles runs a broker with the users that are shipped, and returns what makes one of them that of this process.
func roles(t *testing.T) (as func(user string)) {
	t.Helper()
	inboxes := map[string]string{"producer": "pinion.reply.producer", "worker": "_INBOX.worker", "operator": "_INBOX.operator", "observer": "_INBOX.observer"}
	for user := range inboxes {
		t.Setenv("PINION_"+strings.ToUpper(user)+"_PASSWORD", "secret-"+user)
	}
	options, err := server.ProcessConfigFile(filepath.Join(interop.Root(), "deploy", "nats-roles.conf"))
	if err != nil {
		t.Fatal(err)
	}
	for user := range inboxes { // they are no business of pinion's
		if err := os.Unsetenv("PINION_" + strings.ToUpper(user) + "_PASSWORD"); err != nil {
			t.Fatal(err)
		}
	}
	options.Host, options.Port, options.JetStream, options.StoreDir, options.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, t.TempDir(), true
	broker, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	broker.Start()
	t.Cleanup(func() {
		broker.Shutdown()
		broker.WaitForShutdown()
	})
	if !broker.ReadyForConnections(time.Minute) {
		t.Fatal("the broker isn't ready")
	}
	t.Setenv("PINION_NATS", broker.ClientURL())
	return func(user string) {
		t.Helper()
		password := filepath.Join(t.TempDir(), "password")
		write(t, password, []byte("secret-"+user+"\n"))
		t.Setenv("PINION_NATS_USER", user)
		t.Setenv("PINION_NATS_PASSWORD_FILE", password)
		t.Setenv("PINION_NATS_INBOX", inboxes[user])
	}
}

// serve runs a worker until the test ends, and waits until it takes jobs.
func serve(t *testing.T) {
	t.Helper()
	cmd := exec.Command(pinion, "serve")
	cmd.Env = append(cmd.Environ(), "PINION_HTTP=off")
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	ready, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if strings.Contains(lines.Text(), `"worker ready"`) {
				close(ready)
			}
		}
		_ = cmd.Wait() // killed, or its end is noticed below
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
	})
	select {
	case <-ready:
	case <-ended:
		t.Fatalf("pinion serve: %v", cmd.ProcessState)
	}
}

// refused runs a command that has to fail with a message.
func refused(t *testing.T, command []string, want string) {
	t.Helper()
	_, stderr, err := output(t, command)
	if err == nil || !strings.Contains(stderr, want) {
		t.Errorf("%s: %v, expected %q\n%s", strings.Join(command, " "), err, want, stderr)
	}
}

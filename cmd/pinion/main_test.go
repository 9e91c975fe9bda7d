package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
)

// These tests run the real binary, as separate processes. What they share lies in scratch.
var (
	scratch   string // removed at the end
	program   string // pinion
	catalogue string // all example circuits as NAME-CURVE; multiplier without its calculator (bare), and with a forgeable key (loose)
)

// More of them run at a time than there are cores: those that are parallel wait for leases most of their time.
func TestMain(m *testing.M) {
	flag.Parse()
	parallel := flag.Lookup("test.parallel")
	if parallel.Value.String() == strconv.Itoa(runtime.GOMAXPROCS(0)) {
		if err := parallel.Value.Set("4"); err != nil {
			panic(err)
		}
	}
	code, err := withFixtures(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func withFixtures(run func() int) (int, error) {
	var err error
	if scratch, err = os.MkdirTemp("", "pinion-test-"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(scratch)
	program = filepath.Join(scratch, "pinion")
	catalogue = filepath.Join(scratch, "catalogue")
	if err := build(program, "."); err != nil {
		return 0, err
	}
	if err := fillCatalogue(catalogue); err != nil {
		return 0, err
	}
	return run(), nil
}

func build(out, pkg string) error {
	cmd := exec.Command("go", "build", "-o", out, pkg)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, text)
	}
	return nil
}

func fillCatalogue(dir string) error {
	c, err := circuit.OpenCatalogue(dir)
	if err != nil {
		return err
	}
	for _, name := range circuits.Names {
		for _, curve := range circuits.Curves {
			if err := circuits.Extract(exampleFile(name, curve, ""), name, curve); err != nil {
				return err
			}
			files := circuit.Files{
				Zkey: exampleFile(name, curve, circuits.Zkey), Wasm: exampleFile(name, curve, circuits.Wasm), R1CS: exampleFile(name, curve, circuits.R1CS),
			}
			if _, err := c.Add(context.Background(), name+"-"+curve, files, nil); err != nil {
				return err
			}
		}
	}
	for name, zkey := range map[string]string{"loose": circuits.Forgeable, "bare": circuits.Zkey} {
		if _, err := c.Add(context.Background(), name, circuit.Files{Zkey: exampleFile("multiplier", "bn128", zkey)}, nil); err != nil {
			return err
		}
	}
	return nil
}

// exampleFile is the path of a file of an example circuit.
func exampleFile(name, curve, file string) string {
	return filepath.Join(scratch, "files", name, curve, file)
}

// inputs writes the inputs of an example circuit to a file.
func inputs(t *testing.T, name string) string {
	t.Helper()
	data, err := circuits.Input(name)
	if err != nil {
		t.Fatal(err)
	}
	return write(t, "input.json", data)
}

// write makes a file in a directory of the test's own.
func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// outcome is how a process ended.
type outcome struct {
	stdout, stderr string
	code           int
}

// patience bounds every wait of these tests: long enough for a loaded machine, since reaching it is always a failure.
const patience = 2 * time.Minute

// pinion runs the binary to its end. env comes on top of an environment without PINION variables but for the catalogue.
func pinion(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = environment(env)
	cmd.Dir = t.TempDir()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || ctx.Err() != nil {
		t.Fatalf("pinion %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return outcome{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

func environment(extra []string) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PINION_") && !strings.HasPrefix(v, "OTEL_") {
			env = append(env, v)
		}
	}
	return append(append(env, "PINION_CIRCUITS="+catalogue, "PINION_MEMORY=2GiB"), extra...)
}

// must fails the test unless the command succeeded, and returns what it printed.
func must(t *testing.T, o outcome) string {
	t.Helper()
	if o.code != exitOK {
		t.Fatalf("exit code %d\n%s%s", o.code, o.stdout, o.stderr)
	}
	return o.stdout
}

// natsServer is the path of a nats-server binary: PINION_TEST_NATS_SERVER, or one built from the module that go.mod names.
var natsServer = sync.OnceValues(func() (string, error) {
	if path := os.Getenv("PINION_TEST_NATS_SERVER"); path != "" {
		return path, nil
	}
	path := filepath.Join(scratch, "nats-server")
	return path, build(path, "github.com/nats-io/nats-server/v2")
})

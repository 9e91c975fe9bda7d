// Package interop holds pinion against the tools and circuits of other makers:
// fetch.sh gets them, pinned, into a folder that git ignores, `make interop`
// compares proofs, witnesses and verification keys with snarkjs's in both
// directions, and `make bench-cpu` (folder bench) measures both side by side.
package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Published are the circuits that fetch.sh gets, smallest first.
var Published = []string{
	"semaphore-1", "semaphore-20", "semaphore-32",
	"chacha20", "aes-128-ctr", "authV2", "aes-256-ctr", "credentialAtomicQuerySigV2",
}

// Fetched is the folder that fetch.sh has filled.
type Fetched struct {
	dir  string
	node string
}

// Open finds what fetch.sh has fetched.
func Open() (*Fetched, error) {
	node, err := exec.LookPath("node")
	if err != nil {
		return nil, fmt.Errorf("snarkjs runs on node: %w", err)
	}
	f := &Fetched{dir: filepath.Join(Root(), ".interop"), node: node}
	for _, name := range Published {
		if _, err := os.Stat(f.Circuit(name).Zkey); err != nil {
			return nil, fmt.Errorf("run interop/fetch.sh first: %w", err)
		}
	}
	return f, nil
}

// Root is the root of the repository.
func Root() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(filepath.Dir(file))
}

// Circuit is the files of one circuit.
type Circuit struct {
	Name, Zkey, Wasm, Input string
}

// Circuit names the files of a published circuit.
func (f *Fetched) Circuit(name string) Circuit {
	dir := filepath.Join(f.dir, "circuits", name)
	return Circuit{
		Name:  name,
		Zkey:  filepath.Join(dir, "circuit.zkey"),
		Wasm:  filepath.Join(dir, "circuit.wasm"),
		Input: filepath.Join(dir, "input.json"),
	}
}

// Snarkjs is the command line of a call of snarkjs.
func (f *Fetched) Snarkjs(args ...string) []string {
	return append([]string{f.node, filepath.Join(f.dir, "node_modules", "snarkjs", "build", "cli.cjs")}, args...)
}

// Example is the command line of a script of examples/js.
func (f *Fetched) Example(script string, args ...string) []string {
	return append([]string{f.node, filepath.Join(f.dir, "js", script)}, args...)
}

// BuildPinion builds the binary as it ships, without cgo, into dir.
func BuildPinion(dir string) (string, error) {
	path := filepath.Join(dir, "pinion")
	build := exec.Command("go", "build", "-o", path, "./cmd/pinion")
	build.Dir = Root()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build of pinion: %w\n%s", err, out)
	}
	return path, nil
}

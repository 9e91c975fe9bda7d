package engine

import (
	"context"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// C20: when an engine is closed, also after jobs that failed, nothing of it is left that would keep a process alive, or grow in one
// that lives: no goroutine, no open file.
func TestC20NothingIsLeftAfterClose(t *testing.T) {
	jobs := func(t *testing.T) {
		r := newRig(t)
		r.prove(multiply(t, 3, 5))
		r.fails(context.Background(), Request{Circuit: named("nothing"), Witnesses: []Witness{product(t, groth16.BN254, 3, 5, 15)}}, CodeUnknownCircuit, true)
		for _, bad := range []struct {
			witness Witness
			code    Code
		}{
			{fileWitness([]byte("wtns")), CodeInvalidWitness},
			{product(t, groth16.BN254, 3, 5, 16), CodeUnsatisfied},
			{Witness{Inputs: []byte(`{"a": 3}`)}, CodeInvalidInputs},
		} {
			r.fails(context.Background(), Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{bad.witness}}, bad.code, false)
		}
		cancelled, cancel := context.WithCancel(context.Background())
		cancel()
		r.fails(cancelled, multiply(t, 3, 5), CodeCancelled, false)
	}
	t.Run("once", jobs) // what is made once for a process is there after it
	before := openFiles(t)
	t.Run("again", jobs)
	if after := openFiles(t); after > before {
		t.Errorf("%d open files, %d before", after, before)
	}
	// A goroutine that has said its last word may take a moment to be gone.
	for deadline := time.Now().Add(10 * time.Second); len(leftOver()) > 0; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("left over:\n%s", strings.Join(leftOver(), "\n\n"))
		}
	}
}

// leftOver is the stacks of this module's goroutines, but for those of tests.
func leftOver() (left []string) {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	for _, stack := range strings.Split(string(stacks), "\n\n")[1:] { // the first is the caller's
		if strings.Contains(stack, "pinion-zk/pinion") && !strings.Contains(stack, "testing.(*T).Run") {
			left = append(left, stack)
		}
	}
	return left
}

func openFiles(t *testing.T) int {
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(files)
}

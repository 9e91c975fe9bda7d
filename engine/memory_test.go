package engine

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// P10: on the CPU device nothing is mapped that isn't accounted, within 2 % and what the runtime needs. What is accounted for a proof is
// enough for any witness, and so a little more than a particular one takes.
func TestP10AccountedIsMapped(t *testing.T) {
	if raceDetector {
		t.Skip("what the kernel counts has the race detector's own memory in it: this is for the build without")
	}
	catalogue, witness := synthetic(t)
	r := newRig(t, withCatalogue(catalogue), withSynthesis(gpu.OnDevice),
		withConfig(func(c *Config) { c.AllowForgeable = []string{"made"} }))
	prove := func() { r.prove(Request{Circuit: named("made"), Witnesses: []Witness{witness}}) }
	unload := func() {
		r.circuits.reclaimHost(1)
		r.circuits.unloads.Wait()
	}
	prove() // what the process takes once, and what the tests before left behind, is in the base
	unload()
	base, accountedThen := residentBytes(t), r.budget.Used()
	// The runtime takes a little, and gives back of what it had when the base was read.
	const taken, given = 1 << 20, 4 << 20
	phase := func(name string, least int64) {
		t.Helper()
		accounted, mapped := r.budget.Used()-accountedThen, residentBytes(t)-base
		if mapped > accounted+accounted/50+taken || mapped < accounted*least/100-given {
			t.Errorf("%s: %d KiB accounted, %d KiB mapped", name, accounted>>10, mapped>>10)
		}
	}
	for range 3 {
		prove()
		phase("proven", 80)
	}
	if used := r.budget.Used(); used < 4*given {
		t.Errorf("%d bytes are accounted: the circuit is too small to see anything", used)
	}
	unload()
	phase("unloaded", 0)
}

// synthetic makes a catalogue with a circuit that takes some ten MiB.
func synthetic(t *testing.T) (dir string, witness Witness) {
	t.Helper()
	ctx := t.Context()
	constraints, words, err := circuit.Synthetic{Curve: groth16.BN254, Rows: 1 << 14, Public: 3}.Make(ctx)
	if err != nil {
		t.Fatal(err)
	}
	pk, vk, err := groth16.Setup(ctx, constraints, groth16.OddCoset)
	if err != nil {
		t.Fatal(err)
	}
	zkey := filepath.Join(t.TempDir(), "made.zkey")
	if err := circuit.WriteZkey(ctx, zkey, pk, vk, groth16.Multiples, nil); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if _, err := openCatalogue(t, dir).Add(ctx, "made", circuit.Files{Zkey: zkey}, nil); err != nil {
		t.Fatal(err)
	}
	var wtns bytes.Buffer
	if err := circuit.EncodeWtns(&wtns, groth16.BN254, words); err != nil {
		t.Fatal(err)
	}
	return dir, fileWitness(wtns.Bytes())
}

// residentBytes is the memory of this process that is mapped and backed, in bytes.
func residentBytes(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// What a card locks of the host is accounted, and what loading takes only while it is loaded.
func TestHostMemoryOfACard(t *testing.T) {
	var loading int64
	r := newRig(t, withDevice(func(d *device) { d.info.Memory, d.host, d.staging = 1<<30, 1<<20, 3<<20 }))
	r.device.set(func(d *device) {
		d.load = func(*groth16.ProvingKey) error { loading = r.budget.Used(); return nil }
	})
	if err := r.Preload(context.Background(), named("multiplier-bn128")); err != nil {
		t.Fatal(err)
	}
	s, loaded := r.circuits.find(mustRef(t, r, "multiplier-bn128"))
	if !loaded || r.budget.Used() != s.mapped+1<<20 || loading != s.mapped+4<<20 {
		t.Errorf("%d bytes are accounted while it is loaded, %d later; %d are mapped", loading, r.budget.Used(), s.mapped)
	}
}

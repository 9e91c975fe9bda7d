package gpu

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

func TestCUDAProves(t *testing.T) {
	r := newRig(t)
	for _, name := range circuits.Names {
		for _, curve := range circuits.Curves {
			t.Run(name+" "+curve, func(t *testing.T) {
				if name == "merkle" && r.software() {
					t.Skip("takes the software device a minute; commit and multiplier have all that it has")
				}
				x := openExample(t, name, curve)
				key := r.load(x)
				defer r.unload(key)
				for _, k := range []int{1, 2, 7} {
					witnesses := make([][]byte, k)
					for i := range witnesses {
						witnesses[i] = x.witness
						if name == "multiplier" {
							witnesses[i] = product(uint64(i)+2, 1<<20+uint64(k))
						}
					}
					proofs, err := r.prove(key, witnesses...)
					if err != nil {
						t.Fatalf("%d witnesses: %v", k, err)
					}
					x.verifyEach(t, proofs, witnesses)
				}
			})
		}
	}
}

// a and b that were computed on the host give the same proof as those that the device computes.
func TestCUDASynthesisOnTheHost(t *testing.T) {
	r := newRig(t)
	for _, curve := range circuits.Curves {
		x := openExample(t, "multiplier", curve)
		key := r.load(x)
		task := &Task{Key: key, Inputs: []Input{x.input(t, OnHost), x.input(t, OnHost)}}
		ticket, err := r.Submit(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		<-ticket.Uploaded()
		for _, in := range task.Inputs { // the buffers serve another job now
			for _, buf := range [][]byte{in.Witness, in.A, in.B} {
				clear(buf)
			}
		}
		proofs, _, err := ticket.Result()
		if err != nil {
			t.Fatal(err)
		}
		x.verify(t, proofs, 2)
		r.unload(key)
	}
}

// Blinding is fresh: two proofs of one witness have no point in common.
func TestCUDABlinding(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	key := r.load(x)
	proofs, err := r.prove(key, x.witness, x.witness)
	if err != nil {
		t.Fatal(err)
	}
	one, two := proofs[0].Raw(), proofs[1].Raw()
	for i := 0; i < len(one); i += 32 {
		if bytes.Equal(one[i:i+32], two[i:i+32]) {
			t.Errorf("the proofs have coordinate %d in common", i/32)
		}
	}
	r.unload(key)
}

// What a key takes is known before it is loaded, is what it takes, and comes back.
func TestCUDAFootprint(t *testing.T) {
	r := newRig(t)
	for _, curve := range circuits.Curves {
		x := openExample(t, "multiplier", curve)
		footprint, err := r.Footprint(x.ProvingKey())
		if err != nil {
			t.Fatal(err)
		}
		key := r.load(x)
		if used := usedBy(t, r.card) - r.used; used != footprint.Key || key.Bytes() != footprint.Key {
			t.Errorf("%v: footprint %+v, key of %d bytes, %d bytes used", x.ProvingKey().Curve, footprint, key.Bytes(), used)
		}
		if _, err := r.prove(key, x.witness); err != nil {
			t.Error(err)
		}
		if used := usedBy(t, r.card) - r.used; used != footprint.Key {
			t.Errorf("%d bytes used after a proof, footprint %+v", used, footprint)
		}
		r.unload(key)
		if used := usedBy(t, r.card) - r.used; used != 0 {
			t.Errorf("%d bytes used after unloading", used)
		}
	}
}

// P10: what a key locks of the host is known before it is loaded, and what loading does too.
func TestCUDAPinnedFootprint(t *testing.T) {
	r := newRig(t)
	var ask func(device uintptr, now, most *int64, e *cError) int32
	bind(&ask, symbol(t, r.card, "pinion_software_pinned"))
	pinned := func() (now, most int64) {
		var e cError
		if err := e.err(ask(r.card.handle, &now, &most, &e)); err != nil {
			t.Fatal(err)
		}
		return now, most
	}
	for _, curve := range circuits.Curves {
		x := openExample(t, "multiplier", curve)
		footprint, err := r.Footprint(x.ProvingKey())
		if err != nil {
			t.Fatal(err)
		}
		pinned()
		key := r.load(x)
		now, most := pinned()
		if now != footprint.Host || most > footprint.Host+footprint.Load || most < footprint.Load {
			t.Errorf("%v: footprint %+v, but %d bytes locked, and %d while it was loaded", x.ProvingKey().Curve, footprint, now, most)
		}
		if _, err := r.prove(key, x.witness, x.witness); err != nil {
			t.Error(err)
		}
		if now, most := pinned(); now != footprint.Host || most != footprint.Host {
			t.Errorf("%d bytes locked after a proof, %d at most, footprint %+v", now, most, footprint)
		}
		r.unload(key)
		if now, _ := pinned(); now != 0 {
			t.Errorf("%d bytes locked after unloading", now)
		}
	}
}

func TestCUDAInfo(t *testing.T) {
	r := newRig(t)
	info := r.Info()
	if info.Kind != CUDA || info.Memory <= 0 || info.Synthesis != OnDevice || info.Overlap < 1 || !strings.Contains(info.Name, ":0 (") {
		t.Errorf("info %+v", info)
	}
}

// P1: a card has one handle, and one executor, in a process.
func TestP1CardInUse(t *testing.T) {
	r := newRig(t)
	_, err := OpenCUDA(r.card.lib.path, 0)
	if !errors.Is(err, ErrInUse) {
		t.Errorf("opened again: %v", err)
	}
	wantText(t, err, "cuda:0: gpu: device in use")
	if _, err := NewExecutor(r.card, 1); !errors.Is(err, ErrInUse) {
		t.Errorf("a second executor: %v", err)
	}
	mustClose(t, r.Executor)
	again, err := OpenCUDA(r.card.lib.path, 0)
	if err != nil {
		t.Fatalf("after it was closed: %v", err)
	}
	if r.Executor, err = NewExecutor(again, 1); err != nil {
		t.Fatal(err)
	}
	r.card = again
}

// A circuit that the card has no room for is refused with both numbers, before any of it is read.
func TestCUDATooLittleMemory(t *testing.T) {
	r := newRig(t)
	huge := &groth16.ProvingKey{Curve: groth16.BLS12381, Vars: 1 << 27, Domain: 1 << 27, Rows: 1 << 27,
		Coefficients: groth16.NewSection(make([]byte, 2*groth16.ScalarSize), nil)}
	footprint, err := r.Footprint(huge)
	if err != nil {
		t.Fatal(err)
	}
	if footprint.Key < 77e9 {
		t.Errorf("a circuit of 2^27 takes %d bytes: its points alone are 77 GB", footprint.Key)
	}
	if r.Info().Memory > footprint.Key {
		t.Skip("the card is large enough for everything")
	}
	_, err = r.Load(t.Context(), huge)
	var memory *MemoryError
	if !errors.As(err, &memory) || !errors.Is(err, ErrMemory) || memory.Want != footprint.Key || memory.Free > r.Info().Memory {
		t.Errorf("error %v", err)
	}
	wantText(t, err, fmt.Sprintf("the circuit takes %d bytes of %s, which has %d bytes free", footprint.Key, r.Info().Name, memory.Free))
	r.good(openExample(t, "multiplier", "bn128"))
}

// A section that fails its check is the end of the load, and its error is the section's.
func TestCUDADamagedKey(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	damaged := errors.New("damaged")
	for name, section := range map[string]func(*groth16.ProvingKey) *groth16.Section{
		"H":            func(pk *groth16.ProvingKey) *groth16.Section { return &pk.PointsH },
		"columns of B": func(pk *groth16.ProvingKey) *groth16.Section { return &pk.B.Columns },
	} {
		pk := *x.ProvingKey()
		s := section(&pk)
		whole := s.Unchecked()
		*s = groth16.NewSection(whole, func(_, hi int) error {
			if hi == len(whole) {
				return damaged
			}
			return nil
		})
		if _, err := r.Load(t.Context(), &pk); !errors.Is(err, damaged) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if r.Healthy() != nil {
		t.Error(r.Healthy())
	}
	r.good(x)
}

// Every byte of a key is checked before it is read.
func TestCUDAChecksAllOfAKey(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bls12381")
	pk := *x.ProvingKey()
	var checked sync.Map
	watch := func(s *groth16.Section) {
		of := s.Unchecked()
		seen := 0
		checked.Store(s, &seen)
		*s = groth16.NewSection(of, func(lo, hi int) error { seen += hi - lo; return nil })
	}
	sections := []*groth16.Section{&pk.PointsA, &pk.PointsB1, &pk.PointsB2, &pk.PointsC, &pk.PointsH,
		&pk.A.Starts, &pk.A.Columns, &pk.A.Values, &pk.B.Starts, &pk.B.Columns, &pk.B.Values, &pk.Coefficients}
	for _, s := range sections {
		watch(s)
	}
	key, err := r.Load(t.Context(), &pk)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range sections {
		seen, _ := checked.Load(s)
		if *seen.(*int) < s.Len() {
			t.Errorf("section %d: %d bytes of %d are checked", i, *seen.(*int), s.Len())
		}
	}
	r.unload(key)
}

// An input that can't be proven ends its task, and nothing else.
func TestCUDABadInput(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	key := r.load(x)
	over := bytes.Clone(x.witness)
	over[3*groth16.ScalarSize-1] = 0xff
	zero := bytes.Clone(x.witness)
	zero[0] = 2
	half := x.input(t, OnHost)
	half.B = nil
	short := x.input(t, OnHost)
	short.A = short.A[32:]
	for name, test := range map[string]struct {
		in   Input
		want string
	}{
		"short":          {Input{Witness: x.witness[32:]}, "input 1: a witness of 96 bytes, expected 4 wires of 32 bytes"},
		"a without b":    {half, "input 1: one of a and b without the other"},
		"short a":        {short, fmt.Sprintf("input 1: a vector of %d bytes, expected %d elements of 32 bytes", len(short.A), x.ProvingKey().Domain)},
		"not below r":    {Input{Witness: over}, ""},
		"no wire of one": {Input{Witness: zero}, ""},
	} {
		ticket, err := r.Submit(t.Context(), &Task{Key: key, Inputs: []Input{x.input(t, OnDevice), test.in}})
		if err != nil {
			t.Fatal(err)
		}
		proofs, _, err := ticket.Result()
		if name == "no wire of one" && err == nil {
			continue // no proof of it verifies: that is noticed later
		}
		if proofs != nil || err == nil || !strings.Contains(err.Error(), "input 1") || test.want != "" && err.Error() != test.want {
			t.Errorf("%s: %v, %v", name, proofs, err)
		}
	}
	if _, err := r.card.Begin(&Task{Key: &fakeKey{}}); err == nil || err.Error() != "gpu: key of another device: *gpu.fakeKey" {
		t.Errorf("key of another device: %v", err)
	}
	if r.Healthy() != nil {
		t.Error(r.Healthy())
	}
	proofs, err := r.prove(key, x.witness)
	if err != nil {
		t.Error(err)
	}
	x.verify(t, proofs, 1)
	r.unload(key)
}

// P9: tasks of several circuits at once, from pinned and from other memory.
func TestCUDAManyAtOnce(t *testing.T) {
	r := newRig(t)
	var jobs sync.WaitGroup
	for _, curve := range circuits.Curves {
		x := openExample(t, "multiplier", curve)
		key := r.load(x)
		for n := range uint64(6) {
			jobs.Go(func() {
				witnesses := [][]byte{product(3, n+5), product(n+7, 11)}
				if n%2 == 0 {
					proofs, err := r.prove(key, witnesses...)
					if err != nil {
						t.Error(err)
					}
					x.verifyEach(t, proofs, witnesses)
					return
				}
				ticket, err := r.Submit(t.Context(), &Task{Key: key, Inputs: []Input{{Witness: witnesses[0]}, {Witness: witnesses[1]}}})
				if err != nil {
					t.Error(err)
					return
				}
				proofs, _, err := ticket.Result()
				if err != nil {
					t.Error(err)
				}
				x.verifyEach(t, proofs, witnesses)
			})
		}
	}
	jobs.Wait()
}

// A circuit loaded and proven over and over leaves nothing behind, on the card, in memory, or in goroutines.
func TestCUDANoGrowth(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	round := func(n int) {
		for range n {
			r.good(x)
		}
	}
	measure := func() (resident int64, goroutines int) {
		debug.FreeOSMemory()
		return residentBytes(t), runtime.NumGoroutine()
	}
	round(8)
	before, goroutines := measure()
	round(24)
	after, now := measure()
	if after > before+8<<20 {
		t.Errorf("%d bytes resident after 8 rounds, %d after 24 more", before, after)
	}
	if now > goroutines {
		t.Errorf("%d goroutines after 8 rounds, %d after 24 more", goroutines, now)
	}
	if used := usedBy(t, r.card); used != r.used {
		t.Errorf("%d bytes of the card used, %d at the start", used, r.used)
	}
}

func residentBytes(t *testing.T) int64 {
	t.Helper()
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

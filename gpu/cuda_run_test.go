package gpu

import (
	"bytes"

	"errors"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// stubbed is a card of the stub library, and what steers it.
type stubbed struct {
	*rig
	allow    func(stage int32)
	end      func(code int32, proofs *byte, size uint64)
	blinding func(to *byte)
	key      Key
}

const (
	stageUploaded = 0
	stageDone     = 1
)

func newStubbed(t *testing.T) *stubbed {
	t.Helper()
	card, err := OpenCUDA(stub(t, nil), 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &stubbed{rig: &rig{t: t, card: card}}
	bind(&s.allow, symbol(t, card, "stub_allow"))
	bind(&s.end, symbol(t, card, "stub_end"))
	bind(&s.blinding, symbol(t, card, "stub_blinding"))
	if s.Executor, err = NewExecutor(card, 4); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, s.Executor) })
	s.key = s.load(openExample(t, "multiplier", "bn128"))
	return s
}

func (s *stubbed) submit(witnesses ...[]byte) *Ticket {
	s.t.Helper()
	task := &Task{Key: s.key}
	for _, w := range witnesses {
		task.Inputs = append(task.Inputs, Input{Witness: w})
	}
	ticket, err := s.Submit(s.t.Context(), task)
	if err != nil {
		s.t.Fatal(err)
	}
	return ticket
}

// The buffers are the caller's again when the card has read them, before the proof is there; and two tasks are begun at once, so that
// the second is uploaded meanwhile.
func TestCUDABuffersGoBackWhenUploaded(t *testing.T) {
	s := newStubbed(t)
	first, second := s.submit(product(3, 5)), s.submit(product(3, 7))
	<-first.Begun()
	<-second.Begun()
	if is(first.Uploaded()) || is(first.Done()) {
		t.Error("uploaded before the card says so")
	}
	s.allow(stageUploaded)
	<-first.Uploaded()
	if is(first.Done()) || is(second.Uploaded()) {
		t.Error("more than the first upload is over")
	}
	s.allow(stageUploaded)
	<-second.Uploaded()
	if is(first.Done()) {
		t.Error("done before the card says so")
	}
	s.allow(stageDone)
	first.Result()
	if is(second.Done()) {
		t.Error("the second is done before the card says so")
	}
	s.allow(stageDone)
	second.Result()
}

// What the card answers becomes a proof if it can be one, and times become durations.
func TestCUDAResult(t *testing.T) {
	s := newStubbed(t)
	curve := groth16.BN254
	raw := proofPoints(t)
	s.end(int32(codeOK), &raw[0], uint64(len(raw)))
	for range 2 {
		s.allow(stageUploaded)
		s.allow(stageDone)
	}
	proofs, timings, err := s.submit(product(3, 5), product(3, 7)).Result()
	if err != nil || len(proofs) != 2 || proofs[0] == nil || proofs[1] != nil {
		t.Fatalf("%v, %v; want a proof and none", proofs, err)
	}
	want, err := groth16.NewProof(curve, raw)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(proofs[0].Bytes(), want.Bytes()) {
		t.Error("another proof than the card's")
	}
	timings.Wait, timings.Total = 0, 0 // the executor's
	if want := (Timings{Batch: 2, Upload: time.Millisecond, Synthesis: 2 * time.Millisecond, NTT: 3 * time.Millisecond,
		MSM: (4 + 5 + 6 + 7 + 8 + 9) * time.Millisecond, Finish: 10 * time.Millisecond, Overlapped: 12 * time.Millisecond,
		Sort: 4 * time.Millisecond, A: 5 * time.Millisecond, B1: 6 * time.Millisecond, B2: 7 * time.Millisecond, C: 8 * time.Millisecond,
		H: 9 * time.Millisecond}); timings != want {
		t.Errorf("timings %+v, want %+v", timings, want)
	}
}

// proofPoints are points A, B and C that could be those of a proof: the key's own.
func proofPoints(t *testing.T) []byte {
	t.Helper()
	pk := openExample(t, "multiplier", circuits.Curves[0]).ProvingKey()
	return slices.Concat(pk.Alpha1, pk.Beta2, pk.Beta1)
}

// P5: a card that is lost in the middle of a task ends the wait for it, and is used no more.
func TestP5LostWhileComputing(t *testing.T) {
	s := newStubbed(t)
	ticket := s.submit(product(3, 5))
	<-ticket.Begun()
	var none byte
	s.end(int32(codeFault), &none, 0)
	_, _, err := ticket.Result()
	if !errors.Is(err, ErrFault) || !errors.Is(s.Healthy(), ErrFault) {
		t.Errorf("error %v, health %v", err, s.Healthy())
	}
	wantText(t, err, "prove on stub:0 (nothing): device fault: the stub says 5")
}

// P3: too little memory for a task is the end of the task only.
func TestP3TaskWithoutMemory(t *testing.T) {
	s := newStubbed(t)
	s.allow(stageUploaded)
	s.allow(stageDone)
	var none byte
	s.end(int32(codeOutOfMemory), &none, 0)
	_, _, err := s.submit(product(3, 5)).Result()
	if !errors.Is(err, ErrMemory) || s.Healthy() != nil {
		t.Errorf("error %v, health %v", err, s.Healthy())
	}
}

// The blinding of each proof is two fresh numbers below the order of the group, from the whole range.
func TestCUDABlindingIsFresh(t *testing.T) {
	s := newStubbed(t)
	order := groth16.BN254.ScalarModulus()
	seen := make(map[string]bool)
	largest := new(big.Int)
	const rounds = 64
	for range rounds {
		s.allow(stageUploaded)
		s.allow(stageDone)
		s.submit(product(3, 5)).Result()
		var both [64]byte
		s.blinding(&both[0])
		for _, scalar := range [][]byte{both[:32], both[32:]} {
			seen[string(scalar)] = true
			slices.Reverse(scalar)
			n := new(big.Int).SetBytes(scalar)
			if n.Cmp(order) >= 0 {
				t.Errorf("%v is not below the order", n)
			}
			if n.Cmp(largest) > 0 {
				largest = n
			}
		}
	}
	if len(seen) != 2*rounds {
		t.Errorf("%d different numbers, want %d", len(seen), 2*rounds)
	}
	if largest.BitLen() < order.BitLen()-4 {
		t.Errorf("the largest of %d numbers has %d bits", 2*rounds, largest.BitLen())
	}
}

func TestCUDARefusesLargeCircuits(t *testing.T) {
	s := newStubbed(t)
	pk := &groth16.ProvingKey{Curve: groth16.BN254, Vars: 1001}
	_, err := s.Load(t.Context(), pk)
	if !errors.Is(err, ErrMemory) {
		t.Errorf("error %v", err)
	}
	wantText(t, err, "the circuit takes 1001 bytes of stub:0 (nothing), which has 1000 bytes free")
	pk.Vars = 1
	_, err = s.Load(t.Context(), pk)
	wantText(t, err, "proving key: a domain of 0, expected a power of two up to 268435456")
	if footprint, err := s.Footprint(pk); err != nil || footprint != (Footprint{Key: 1, Load: staging, Batch: 1}) {
		t.Errorf("footprint %+v, %v", footprint, err)
	}
}

// A panic doesn't cross the library: it is the error of the load.
func TestTouchPanics(t *testing.T) {
	data := make([]byte, 64)
	r := readSections(&groth16.ProvingKey{PointsA: groth16.NewSection(data, func(int, int) error { panic("a secret") })})
	defer r.end()
	if touch(r.context, uintptr(address(data)), 64) == 0 || !errors.Is(r.err, ErrFault) || strings.Contains(r.err.Error(), "secret") {
		t.Errorf("error %v", r.err)
	}
}

func TestTouchOutsideTheKey(t *testing.T) {
	x := openExample(t, "multiplier", "bn128")
	pk := x.ProvingKey()
	r := readSections(pk)
	defer r.end()
	h := uintptr(address(pk.PointsH.Unchecked()))
	if touch(r.context, h, uintptr(pk.PointsH.Len())) != 0 || r.err != nil {
		t.Errorf("all of H: %v", r.err)
	}
	if touch(r.context, h+64, uintptr(pk.PointsH.Len())) == 0 {
		t.Error("past the end of H")
	}
	wantText(t, r.err, "the CUDA library reads "+strconv.Itoa(pk.PointsH.Len())+" bytes that are in no section of the key")
	if touch(r.context, h, 1) == 0 {
		t.Error("a load goes on after its failure")
	}
	if touch(r.context+1000, h, 1) == 0 {
		t.Error("a load that there isn't")
	}
}

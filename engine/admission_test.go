package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/groth16"
)

func TestRefusedAtAdmission(t *testing.T) {
	r := newRig(t)
	info, err := r.catalogue.Info(named("multiplier-bn128"))
	if err != nil {
		t.Fatal(err)
	}
	wrong := info.Ref()
	wrong.Digest[0] ^= 1
	witness := []Witness{product(t, groth16.BN254, 3, 5, 15)}
	both := Witness{Open: witness[0].Open, Inputs: []byte("{}")}
	for _, c := range []struct {
		name  string
		req   Request
		code  Code
		retry bool
		is    error
	}{
		{"unknown circuit", Request{Circuit: named("nothing"), Witnesses: witness}, CodeUnknownCircuit, true, circuit.ErrUnknownCircuit},
		{"wrong digest", Request{Circuit: wrong, Witnesses: witness}, CodeWrongDigest, true, circuit.ErrDigestMismatch},
		{"forgeable", Request{Circuit: named("forgeable"), Witnesses: witness}, CodeForgeable, false, nil},
		{"no witness", Request{Circuit: info.Ref()}, CodeInvalidWitness, false, nil},
		{"empty witness", Request{Circuit: info.Ref(), Witnesses: []Witness{{}}}, CodeInvalidWitness, false, nil},
		{"both kinds", Request{Circuit: info.Ref(), Witnesses: []Witness{both}}, CodeInvalidWitness, false, nil},
		{"no calculator", Request{Circuit: named("plain-bn128"), Witnesses: []Witness{{Inputs: []byte("{}")}}}, CodeCalculator, false,
			circuit.ErrNoCalculator},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := r.Admit(context.Background(), c.req)
			e := expectError(t, err, c.code, c.retry)
			if c.is != nil && !errors.Is(e, c.is) {
				t.Errorf("%v isn't %v", e, c.is)
			}
			r.idle()
		})
	}
}

func TestC8ForgeableKeyIsServedByNameOnly(t *testing.T) {
	req := Request{Circuit: named("forgeable"), Witnesses: []Witness{product(t, groth16.BN254, 3, 5, 15)}}
	_, err := newRig(t).Prove(context.Background(), req)
	expectText(t, err, "forgeable_circuit: circuit forgeable: its key has no phase-2 contribution (gamma = delta), "+
		"so that anybody can forge proofs; it isn't allowed by name")
	newRig(t, withConfig(func(c *Config) { c.AllowForgeable = []string{"forgeable"} })).prove(req)
}

func TestRefByNameAndDigest(t *testing.T) {
	r := newRig(t)
	byName := r.prove(multiply(t, 3, 5))
	req := multiply(t, 3, 5)
	req.Circuit = byName.Circuit
	byDigest := r.prove(req)
	if byName.Circuit.Digest.IsZero() || byName.Circuit != byDigest.Circuit {
		t.Errorf("outcomes are of %s and %s, expected one circuit with its digest", byName.Circuit, byDigest.Circuit)
	}
	if got := r.Stats().Loads; got != 1 {
		t.Errorf("%d loads, expected 1", got)
	}
}

func TestMalformedWitness(t *testing.T) {
	r := newRig(t)
	short, long := from(t, brokenSource{}).Witnesses[0], from(t, brokenSource{}).Witnesses[0]
	short.Size--
	long.Size++
	for _, c := range []struct {
		name    string
		witness Witness
		text    string
	}{
		{"of another circuit", exampleWitness(t, "commit", "bn128"),
			"invalid_witness: witness 0: witness: section 1 at byte 60: found 641 values, expected 4"},
		{"of another curve", exampleWitness(t, "multiplier", "bls12381"),
			"invalid_witness: witness 0: witness: section 1 at byte 28: found the prime of bls12381, expected the prime of bn128"},
		{"nothing", fileWitness(nil),
			"invalid_witness: witness 0: witness: at byte 0: found the end of the file, expected 12 more bytes"},
		{"longer than its size", short,
			"invalid_witness: witness 0: witness: section 2 at byte 76: found 127 bytes up to the end of the file, expected 128"},
		{"shorter than its size", long,
			"invalid_witness: witness 0: witness: at byte 204: found 1 bytes after the last section, expected the end of the file"},
		{"inputs no JSON", Witness{Inputs: []byte("{")},
			"invalid_inputs: witness 0: inputs: JSON ends early, after byte 1"},
		{"unknown signal", Witness{Inputs: []byte(`{"a":1,"b":2,"x":3}`)},
			`invalid_inputs: witness 0: input signal "x": not an input of the circuit`},
	} {
		t.Run(c.name, func(t *testing.T) {
			code := CodeInvalidWitness
			if c.witness.Inputs != nil {
				code = CodeInvalidInputs
			}
			req := Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{c.witness}}
			expectText(t, r.fails(context.Background(), req, code, false), c.text)
			r.idle()
		})
	}
}

// A job with inputs is admitted with the calculator's memory, and gives it back when its witnesses are made.
func TestCalculatorMemoryIsReserved(t *testing.T) {
	const calculator = 200 << 20
	gate, begun := make(chan struct{}), make(chan struct{}, 1)
	r := newRig(t, withConfig(func(c *Config) { c.CalculatorMemory = calculator }),
		withDevice(func(d *device) { d.gate, d.begun = gate, begun }))
	job, err := r.Admit(context.Background(), Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{{Inputs: []byte(`{"a":3,"b":5}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	defer job.Close()
	if used := r.budget.Used(); used < calculator {
		t.Errorf("%d bytes are accounted after admission, expected those of the calculator among them", used)
	}
	done := make(chan error)
	go func() { _, err := job.Prove(context.Background()); done <- err }()
	<-begun
	if used := r.budget.Used(); used >= calculator {
		t.Errorf("%d bytes are accounted while the device works, expected the calculator's back", used)
	}
	gate <- struct{}{}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A calculation that takes longer than the limit ends, for good, and gives all back.
func TestCalculatorTimeIsLimited(t *testing.T) {
	r := newRig(t, withConfig(func(c *Config) { c.CalculatorTime = time.Nanosecond }))
	req := Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{{Inputs: []byte(`{"a":3,"b":5}`)}}}
	expectText(t, r.fails(context.Background(), req, CodeCalculator, false), "calculator: witness 0: no witness after 1ns, which is the limit")
	r.idle()
}

func TestTooLargeForTheDevice(t *testing.T) {
	r := newRig(t, withDevice(func(d *device) { d.info.Memory = 1000 }))
	s, _, err := r.measure(named("merkle-bn128"))
	if err != nil {
		t.Fatal(err)
	}
	want := s.footprint.Key + s.footprint.Task
	if want <= 1000 {
		t.Skipf("a merkle proof takes %d bytes of the device only", want)
	}
	e := r.fails(context.Background(), example(t, "merkle", "bn128"), CodeTooLarge, true)
	expectText(t, e, fmt.Sprintf("too_large: circuit merkle-bn128: device memory: memory budget: %d bytes wanted, 1000 bytes in all", want))
	r.idle()
}

func TestDeviceMemoryIsAccounted(t *testing.T) {
	r := newRig(t, withDevice(func(d *device) { d.info.Memory = 1 << 30 }))
	r.prove(example(t, "merkle", "bn128"))
	s, loaded, err := r.measure(mustRef(t, r, "merkle-bn128"))
	if err != nil || !loaded {
		t.Fatalf("the circuit isn't loaded: %v", err)
	}
	if used := r.memory.Used(); used != s.footprint.Key {
		t.Errorf("%d bytes of the device are accounted, expected %d of the key", used, s.footprint.Key)
	}
}

func mustRef(t *testing.T, r *rig, name string) circuit.Ref {
	t.Helper()
	info, err := r.catalogue.Info(named(name))
	if err != nil {
		t.Fatal(err)
	}
	return info.Ref()
}

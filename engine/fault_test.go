package engine

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// P4: a wrong proof is caught, made again once, counted, and never leaves.
func TestP4WrongProofOnceIsMadeAgain(t *testing.T) {
	for _, name := range []string{"multiplier-bn128", "plain-bn128", "multiplier-bls12381"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, withDevice(func(d *device) { d.wrong = once() }))
			curve := groth16.BN254
			if name == "multiplier-bls12381" {
				curve = groth16.BLS12381
			}
			out := r.prove(Request{Circuit: named(name), Witnesses: []Witness{product(t, curve, 3, 5, 15)}})
			if out.Attempts != 2 {
				t.Errorf("%d attempts, expected 2", out.Attempts)
			}
			got := r.Stats()
			if got.Wrong != 1 || got.Again != 1 || got.DeviceFaults != 1 || got.Proofs != 1 {
				t.Errorf("counted %+v, expected one wrong proof, made again, by the device's fault", got)
			}
			if err := r.Healthy(); err != nil {
				t.Errorf("unhealthy after a single wrong proof: %v", err)
			}
			r.idle()
		})
	}
}

func TestP4OnlyWrongProofsAreMadeAgain(t *testing.T) {
	tasks := 0
	r := newRig(t, withDevice(func(d *device) {
		d.wrong = func(*groth16.ProvingKey) bool { tasks++; return tasks == 2 }
	}))
	req := multiply(t, 3, 5)
	req.Witnesses = append(req.Witnesses, product(t, groth16.BN254, 7, 9, 63), product(t, groth16.BN254, 2, 4, 8))
	var again []int
	req.Observe = func(e Event) {
		if e.Phase == PhaseWitness && e.Attempt == 2 {
			again = append(again, e.Proof)
		}
	}
	r.prove(req)
	if len(again) != 1 || again[0] != 1 {
		t.Errorf("witnesses %v were proven again, expected 1", again)
	}
}

// P4: a device that always answers wrongly is found out by the known circuit.
func TestP4WrongProofAlwaysIsDeviceFault(t *testing.T) {
	r := newRig(t, withDevice(func(d *device) { d.wrong = always }))
	err := r.fails(context.Background(), Request{Circuit: named("plain-bn128"), Witnesses: []Witness{product(t, groth16.BN254, 3, 5, 15)}},
		CodeDeviceFault, true)
	expectText(t, err, "device_fault: proof 0 doesn't verify, and the device fails on a circuit whose answer is known: "+r.Healthy().Error())
	if got := r.Stats(); got.Wrong != 2 || got.Again != 1 || got.DeviceFaults != 1 || got.Proofs != 0 {
		t.Errorf("counted %+v, expected two wrong proofs, one made again, one device fault", got)
	}
	r.fails(context.Background(), multiply(t, 3, 5), CodeDeviceFault, true) // refused from now on
	r.idle()
}

func TestWitnessKnownToBeRightIsDeviceFault(t *testing.T) {
	r := newRig(t, withDevice(func(d *device) { d.wrong = func(pk *groth16.ProvingKey) bool { return !isKnown(pk) } }))
	err := r.fails(context.Background(), multiply(t, 3, 5), CodeDeviceFault, true)
	expectText(t, err, "device_fault: proof 0 doesn't verify, although the witness satisfies the circuit's constraints: "+
		"the device fails on it, or the constraints belong to another key")
	if err := r.Healthy(); err != nil {
		t.Errorf("unhealthy: %v; the known circuit was proven", err)
	}
	r.idle()
}

func TestInvalidWitness(t *testing.T) {
	const unsatisfied = "unsatisfied: witness 1: the witness does not satisfy constraint 0"
	const invalid = "invalid_witness: witness 1 doesn't satisfy circuit %s: " +
		"no proof of it verifies, and the device is right where the answer is known"
	for _, c := range []struct {
		circuit   string
		curve     groth16.Curve
		synthesis gpu.Synthesis
		code      Code
		text      string
	}{
		{"multiplier-bn128", groth16.BN254, gpu.OnHost, CodeUnsatisfied, unsatisfied},
		{"multiplier-bls12381", groth16.BLS12381, gpu.OnDevice, CodeUnsatisfied, unsatisfied},
		{"plain-bn128", groth16.BN254, gpu.OnDevice, CodeInvalidWitness, fmt.Sprintf(invalid, "plain-bn128")},
		{"plain-bls12381", groth16.BLS12381, gpu.OnHost, CodeInvalidWitness, fmt.Sprintf(invalid, "plain-bls12381")},
	} {
		t.Run(c.circuit, func(t *testing.T) {
			r := newRig(t, withSynthesis(c.synthesis))
			err := r.fails(context.Background(), Request{Circuit: named(c.circuit), Witnesses: []Witness{
				product(t, c.curve, 3, 5, 15), product(t, c.curve, 3, 5, 16),
			}}, c.code, false)
			expectText(t, err, c.text)
			if got := r.Stats(); got.DeviceFaults != 0 || r.Healthy() != nil {
				t.Errorf("the device is blamed: %+v, %v", got, r.Healthy())
			}
			r.idle()
		})
	}
}

// P7: a job that fails in any phase leaves memory, worker and device as they were: the next one is proven.
func TestP7FailInEachPhase(t *testing.T) {
	broken := errors.New("broken")
	failing := func(*groth16.ProvingKey) error { return broken }
	good := func(t *testing.T) Request { return multiply(t, 3, 5) }
	for _, c := range []struct {
		name    string
		device  func(*device)
		request func(t *testing.T) Request
		code    Code
		retry   bool
	}{
		{"load", func(d *device) { d.load = failing }, good, CodeDeviceFault, true},
		{"begin", func(d *device) { d.begin = failing }, good, CodeDeviceFault, true},
		{"device", func(d *device) { d.end = failing }, good, CodeDeviceFault, true},
		{"check", func(d *device) { d.wrong = always }, func(t *testing.T) Request {
			return Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{product(t, groth16.BN254, 3, 5, 16)}}
		}, CodeUnsatisfied, false},
		{"open", nil, func(t *testing.T) Request { return from(t, brokenSource{open: broken}) }, CodeInternal, true},
		{"stream", nil, func(t *testing.T) Request { return from(t, brokenSource{read: broken}) }, CodeInternal, true},
		{"close", nil, func(t *testing.T) Request {
			return from(t, brokenSource{close: &Error{Code: CodeInvalidWitness, Err: broken}})
		}, CodeInvalidWitness, false},
		{"inputs", nil, func(t *testing.T) Request {
			return Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{{Inputs: []byte(`{"a": 1}`)}}}
		}, CodeInvalidInputs, false},
		{"second witness", nil, func(t *testing.T) Request {
			req := multiply(t, 3, 5)
			req.Witnesses = append(req.Witnesses, from(t, brokenSource{read: broken}).Witnesses...)
			return req
		}, CodeInternal, true},
	} {
		for _, synthesis := range []gpu.Synthesis{gpu.OnHost, gpu.OnDevice} {
			t.Run(c.name+"/"+string(synthesis), func(t *testing.T) {
				r := newRig(t, withSynthesis(synthesis))
				if c.device != nil {
					r.device.set(c.device)
				}
				r.fails(context.Background(), c.request(t), c.code, c.retry)
				r.idle()
				r.device.set(func(d *device) { d.load, d.begin, d.end, d.wrong = nil, nil, nil, nil })
				if err := r.Healthy(); err != nil {
					t.Skipf("the executor gave the device up: %v", err)
				}
				r.prove(good(t))
				r.idle()
			})
		}
	}
}

// P6: a circuit that is loaded is served from its mapping when its key is removed; one that isn't, is unknown.
func TestP6KeyRemovedWhileRunning(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	if err := circuits.Extract(files, "multiplier", "bn128"); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"multiplier-bn128", "unused"} {
		_, err := openCatalogue(t, dir).Add(context.Background(), name, circuit.Files{Zkey: filepath.Join(files, circuits.Zkey)}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	r := newRig(t, withCatalogue(dir))
	req := multiply(t, 3, 5)
	out := r.prove(req)
	c, err := r.catalogue.Open(out.Circuit)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, name := range []string{"multiplier-bn128", "unused"} {
		if err := r.catalogue.Remove(circuit.Ref{Name: name}); err != nil {
			t.Fatal(err)
		}
	}

	pinned := req
	pinned.Circuit = out.Circuit
	again, err := r.Prove(context.Background(), pinned)
	if err != nil {
		t.Fatalf("a circuit that is loaded: %v", err)
	}
	if err := c.VerifyingKey().Verify(again.Proofs[0].Proof, again.Proofs[0].Public); err != nil {
		t.Error(err)
	}
	r.fails(context.Background(), req, CodeUnknownCircuit, true)
	expectError(t, r.Preload(context.Background(), named("unused")), CodeUnknownCircuit, true)
	r.idle()
}

package gpu

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
)

// example is one of the example circuits, prepared, with its witness.
type example struct {
	*circuit.Prepared
	witness []byte
}

func (x *example) verify(t *testing.T, proofs []*groth16.Proof, want int) {
	t.Helper()
	if len(proofs) != want {
		t.Errorf("%d proofs, want %d", len(proofs), want)
	}
	public := groth16.PublicFromWitness(x.witness, x.ProvingKey().Public)
	for _, p := range proofs {
		if err := x.VerifyingKey().Verify(p, public); err != nil {
			t.Errorf("proof: %v", err)
		}
	}
}

// input copies the witness, and synthesizes on the host if asked to.
func (x *example) input(t *testing.T, synthesis Synthesis) Input {
	t.Helper()
	in := Input{Witness: bytes.Clone(x.witness)}
	if synthesis == OnDevice {
		return in
	}
	pk := x.ProvingKey()
	in.A, in.B = make([]byte, pk.Domain*groth16.ScalarSize), make([]byte, pk.Domain*groth16.ScalarSize)
	if err := pk.Synthesize(t.Context(), in.Witness, in.A, in.B); err != nil {
		t.Fatal(err)
	}
	return in
}

func openExample(t *testing.T, name, curve string) *example {
	t.Helper()
	dir := t.TempDir()
	if err := circuits.Extract(dir, name, curve); err != nil {
		t.Fatal(err)
	}
	return openFiles(t, dir)
}

// openFiles prepares the key of a circuit's folder, and reads the witness.
func openFiles(t *testing.T, dir string) *example {
	t.Helper()
	p := prepare(t, dir)
	wtns, err := os.ReadFile(filepath.Join(dir, circuits.Witness))
	if err != nil {
		t.Fatal(err)
	}
	pk := p.ProvingKey()
	x := &example{Prepared: p, witness: make([]byte, pk.Vars*groth16.ScalarSize)}
	shape := circuit.Shape{Curve: pk.Curve, Vars: pk.Vars}
	if err := circuit.DecodeWtns(x.witness, bytes.NewReader(wtns), int64(len(wtns)), shape); err != nil {
		t.Fatal(err)
	}
	return x
}

// prepare opens the key of a circuit's folder.
func prepare(t *testing.T, dir string) *circuit.Prepared {
	t.Helper()
	z, err := circuit.OpenZkey(filepath.Join(dir, circuits.Zkey))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	path := filepath.Join(t.TempDir(), "key")
	if err := circuit.Prepare(t.Context(), z, path, nil); err != nil {
		t.Fatal(err)
	}
	p, err := circuit.OpenPrepared(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func cpuExecutor(t *testing.T) *Executor {
	t.Helper()
	e, err := NewExecutor(NewCPU(), 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, e) })
	return e
}

func TestCPUProves(t *testing.T) {
	for _, curve := range circuits.Curves {
		for _, synthesis := range []Synthesis{OnHost, OnDevice} {
			t.Run(curve+", synthesis on the "+string(synthesis), func(t *testing.T) {
				x, e := openExample(t, "multiplier", curve), cpuExecutor(t)
				key, err := e.Load(t.Context(), x.ProvingKey())
				if err != nil {
					t.Fatal(err)
				}
				footprint, err := e.Footprint(x.ProvingKey())
				if err != nil || key.Bytes() != footprint.Key || footprint.Key <= 0 {
					t.Errorf("footprint %+v, %v; key of %d bytes", footprint, err, key.Bytes())
				}
				task := &Task{Key: key, Inputs: []Input{x.input(t, synthesis), x.input(t, synthesis)}}
				ticket, err := e.Submit(t.Context(), task)
				if err != nil {
					t.Fatal(err)
				}
				<-ticket.Uploaded()
				for _, in := range task.Inputs { // the buffers serve another job now
					for _, buf := range [][]byte{in.Witness, in.A, in.B} {
						clear(buf)
					}
				}
				proofs, timings, err := ticket.Result()
				if err != nil {
					t.Fatal(err)
				}
				x.verify(t, proofs, 2)
				if timings.MSM <= 0 || timings.NTT <= 0 || timings.Total <= 0 || (timings.Synthesis > 0) != (synthesis == OnDevice) {
					t.Errorf("timings %+v", timings)
				}
			})
		}
	}
}

// P9: concurrent proofs of several circuits through one device.
func TestCPUManyAtOnce(t *testing.T) {
	e := cpuExecutor(t)
	var jobs sync.WaitGroup
	for _, name := range []string{"multiplier", "commit"} {
		for _, curve := range circuits.Curves {
			x := openExample(t, name, curve)
			key, err := e.Load(t.Context(), x.ProvingKey())
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				jobs.Go(func() {
					ticket, err := e.Submit(t.Context(), &Task{Key: key, Inputs: []Input{x.input(t, OnHost)}})
					if err != nil {
						t.Error(err)
						return
					}
					proofs, _, err := ticket.Result()
					if err != nil {
						t.Error(err)
					}
					x.verify(t, proofs, 1)
				})
			}
		}
	}
	jobs.Wait()
}

// An input that can't be proven ends its task, with the number of the input, and nothing else: the device goes on.
func TestCPUBadInput(t *testing.T) {
	x, e := openExample(t, "multiplier", "bn128"), cpuExecutor(t)
	key, err := e.Load(t.Context(), x.ProvingKey())
	if err != nil {
		t.Fatal(err)
	}
	short := Input{Witness: x.witness[groth16.ScalarSize:]}
	ticket, err := e.Submit(t.Context(), &Task{Key: key, Inputs: []Input{x.input(t, OnDevice), short}})
	if err != nil {
		t.Fatal(err)
	}
	proofs, _, err := ticket.Result()
	if proofs != nil || err == nil || !strings.HasPrefix(err.Error(), "input 1: ") || e.Healthy() != nil {
		t.Errorf("short witness: %v, %v; healthy: %v", proofs, err, e.Healthy())
	}
	if _, err := e.Load(t.Context(), &groth16.ProvingKey{}); err == nil {
		t.Error("an empty key was loaded")
	}
	if _, err := NewCPU().Begin(&Task{Key: &fakeKey{}}); err == nil || err.Error() != "gpu: key of another device: *gpu.fakeKey" {
		t.Errorf("key of another device: %v", err)
	}
	ticket, err = e.Submit(t.Context(), &Task{Key: key, Inputs: []Input{x.input(t, OnDevice)}})
	if err != nil {
		t.Fatal(err)
	}
	proofs, _, err = ticket.Result()
	if err != nil {
		t.Error(err)
	}
	x.verify(t, proofs, 1)
}

func TestCPUInfo(t *testing.T) {
	info := NewCPU().Info()
	if info.Kind != CPU || info.Memory != 0 || info.Synthesis != OnHost || info.Overlap != 1 {
		t.Errorf("info %+v", info)
	}
}

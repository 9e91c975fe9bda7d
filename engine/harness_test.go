package engine

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/pool"
)

var testCatalogueDir string

// The circuits of the tests' catalogue: NAME-CURVE with all files, plain-CURVE a multiplier of which only the key is there,
// forgeable a multiplier's key without contributions.
func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "engine")
	if err == nil {
		testCatalogueDir = filepath.Join(dir, "catalogue")
		err = fillCatalogue(dir, testCatalogueDir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

func fillCatalogue(dir, catalogueDir string) error {
	catalogue, err := circuit.OpenCatalogue(catalogueDir)
	if err != nil {
		return err
	}
	add := func(name string, files circuit.Files) {
		if err == nil {
			_, err = catalogue.Add(context.Background(), name, files, nil)
		}
	}
	for _, name := range circuits.Names {
		for _, curve := range circuits.Curves {
			at := filepath.Join(dir, name, curve)
			if err := circuits.Extract(at, name, curve); err != nil {
				return err
			}
			file := func(name string) string { return filepath.Join(at, name) }
			add(name+"-"+curve, circuit.Files{Zkey: file(circuits.Zkey), Wasm: file(circuits.Wasm), R1CS: file(circuits.R1CS)})
			if name == "multiplier" {
				add("plain-"+curve, circuit.Files{Zkey: file(circuits.Zkey)})
			}
			if name == "multiplier" && curve == "bn128" {
				add("forgeable", circuit.Files{Zkey: file(circuits.Forgeable)})
			}
		}
	}
	return err
}

// A rig is an engine on a device that can be told to fail.
type rig struct {
	*Engine
	t         *testing.T
	catalogue *circuit.Catalogue
	device    *device
	executor  *gpu.Executor
	queue     int // tasks that may wait for the device
	budget    *pool.Budget
	pool      *pool.Pool
}

type option func(*rig, *Config)

func withBudget(bytes int64) option {
	return func(r *rig, _ *Config) { r.budget = pool.NewBudget(bytes) }
}
func withSynthesis(s gpu.Synthesis) option { return func(_ *rig, c *Config) { c.Synthesis = s } }
func withQueue(tasks int) option           { return func(r *rig, _ *Config) { r.queue = tasks } }
func withDevice(change func(*device)) option {
	return func(r *rig, _ *Config) { change(r.device) }
}
func withConfig(change func(*Config)) option { return func(_ *rig, c *Config) { change(c) } }
func withCatalogue(dir string) option {
	return func(r *rig, _ *Config) { r.catalogue = openCatalogue(r.t, dir) }
}

func openCatalogue(t *testing.T, dir string) *circuit.Catalogue {
	t.Helper()
	c, err := circuit.OpenCatalogue(dir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newRig starts an engine, and at the end of the test closes it and expects all memory back.
func newRig(t *testing.T, options ...option) *rig {
	t.Helper()
	r := &rig{t: t, device: newDevice(), queue: 1, budget: pool.NewBudget(1 << 30)}
	config := Config{CalculatorMemory: 64 << 20}
	for _, o := range options {
		o(r, &config)
	}
	if r.catalogue == nil {
		r.catalogue = openCatalogue(t, testCatalogueDir)
	}
	r.budget.OnFault(func(err error) { t.Errorf("memory: %v", err) })
	r.pool = pool.NewPool(r.budget, pool.HugePages{})
	executor, err := gpu.NewExecutor(r.device, r.queue)
	if err != nil {
		t.Fatal(err)
	}
	r.executor = executor
	config.Catalogue, config.Executor, config.Budget, config.Pool = r.catalogue, executor, r.budget, r.pool
	r.Engine = New(config)
	t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	ctx := context.Background()
	if err := r.Close(ctx); err != nil {
		r.t.Errorf("close: %v", err)
	}
	if n := r.pool.Stats().InUseBuffers; n != 0 {
		r.t.Errorf("%d buffers are out after close", n)
	}
	if err := errors.Join(r.pool.Close(), r.executor.Close(ctx)); err != nil {
		r.t.Error(err)
	}
	if used := r.budget.Used(); used != 0 {
		r.t.Errorf("%d bytes are accounted after close, expected none", used)
	}
	if r.memory != nil && r.memory.Used() != 0 {
		r.t.Errorf("%d bytes of the device are accounted after close, expected none", r.memory.Used())
	}
}

// idle expects that nothing but loaded circuits and idle buffers is accounted.
func (r *rig) idle() {
	r.t.Helper()
	stats, circuits := r.pool.Stats(), int64(0)
	r.circuits.mu.Lock()
	for _, c := range r.circuits.table {
		if c.users != 0 {
			r.t.Errorf("circuit %s has %d users, expected none", c.ref.Name, c.users)
		}
		circuits += c.memory.host.Bytes()
	}
	r.circuits.mu.Unlock()
	if stats.InUseBuffers != 0 {
		r.t.Errorf("%d buffers are out, expected none", stats.InUseBuffers)
	}
	if used := r.budget.Used(); used != stats.IdleBytes+circuits {
		r.t.Errorf("%d bytes are accounted, expected %d of idle buffers and %d of circuits", used, stats.IdleBytes, circuits)
	}
	if n := len(r.workers); n != 0 {
		r.t.Errorf("%d workers are taken, expected none", n)
	}
}

// prove expects proofs that verify, by a key of the test's own.
func (r *rig) prove(req Request) *Outcome {
	r.t.Helper()
	out, err := r.Prove(context.Background(), req)
	if err != nil {
		r.t.Errorf("prove %s: %v", req.Circuit, err)
		return nil
	}
	r.verify(req, out)
	return out
}

func (r *rig) verify(req Request, out *Outcome) {
	r.t.Helper()
	c, err := r.catalogue.Open(out.Circuit)
	if err != nil {
		r.t.Error(err)
		return
	}
	defer c.Close()
	if len(out.Proofs) != len(req.Witnesses) {
		r.t.Errorf("%d proofs, expected %d", len(out.Proofs), len(req.Witnesses))
	}
	for i, p := range out.Proofs {
		if err := c.VerifyingKey().Verify(p.Proof, p.Public); err != nil {
			r.t.Errorf("proof %d of %s: %v", i, req.Circuit, err)
		}
	}
}

// fails expects an error of the code.
func (r *rig) fails(ctx context.Context, req Request, code Code, retry bool) *Error {
	r.t.Helper()
	out, err := r.Prove(ctx, req)
	if out != nil {
		r.t.Error("a failed job has an outcome")
	}
	return expectError(r.t, err, code, retry)
}

func expectError(t *testing.T, err error, code Code, retry bool) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error %v, expected code %s", err, code)
	}
	if e.Code != code || e.Retry != retry {
		t.Errorf("error %v with retry %v, expected code %s with retry %v", e, e.Retry, code, retry)
	}
	return e
}

func expectText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error\n  %v\nexpected\n  %s", err, want)
	}
}

func named(name string) circuit.Ref { return circuit.Ref{Name: name} }

// example is the request that an example's own witness makes.
func example(t *testing.T, name, curve string) Request {
	t.Helper()
	return Request{Circuit: named(name + "-" + curve), Witnesses: []Witness{exampleWitness(t, name, curve)}}
}

func exampleWitness(t *testing.T, name, curve string) Witness {
	t.Helper()
	data, err := circuits.File(name, curve, circuits.Witness)
	if err != nil {
		t.Fatal(err)
	}
	return fileWitness(data)
}

func fileWitness(data []byte) Witness {
	return Witness{Size: int64(len(data)), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}}
}

// product is a multiplier's witness 1, c, a, b; it satisfies the circuit if c = a * b.
func product(t *testing.T, curve groth16.Curve, a, b, c uint64) Witness {
	t.Helper()
	words := make([]byte, 4*groth16.ScalarSize)
	for i, v := range []uint64{1, c, a, b} {
		binary.LittleEndian.PutUint64(words[i*groth16.ScalarSize:], v)
	}
	var file bytes.Buffer
	if err := circuit.EncodeWtns(&file, curve, words); err != nil {
		t.Fatal(err)
	}
	return fileWitness(file.Bytes())
}

func multiply(t *testing.T, a, b uint64) Request {
	t.Helper()
	return Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{product(t, groth16.BN254, a, b, a*b)}}
}

// device is the CPU device, told to fail.
type device struct {
	gpu.Device
	info          gpu.Info
	batch         int   // inputs that it computes at once
	host, staging int64 // Footprint.Host and Load

	mu    sync.Mutex
	keys  map[gpu.Key]*groth16.ProvingKey
	load  func(*groth16.ProvingKey) error // what Load fails with
	begin func(*groth16.ProvingKey) error // what Begin fails with
	end   func(*groth16.ProvingKey) error // what a run fails with
	wrong func(*groth16.ProvingKey) bool  // whether a run's proofs are swapped for others
	bad   func(gpu.Input) bool            // what a run has against an input
	gate  chan struct{}                   // if not nil, each run takes a token before it is done
	begun chan struct{}                   // if not nil, gets a token for each run that begins
}

func newDevice() *device {
	cpu := gpu.NewCPU()
	return &device{Device: cpu, info: cpu.Info(), batch: 1, keys: make(map[gpu.Key]*groth16.ProvingKey)}
}

func (d *device) Info() gpu.Info { return d.info }

func (d *device) Footprint(pk *groth16.ProvingKey) (gpu.Footprint, error) {
	footprint, err := d.Device.Footprint(pk)
	footprint.Batch, footprint.Host, footprint.Load = d.batch, d.host, d.staging
	return footprint, err
}

// set changes what the device does from now on.
func (d *device) set(change func(*device)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d)
}

func (d *device) Load(pk *groth16.ProvingKey) (gpu.Key, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.load != nil {
		if err := d.load(pk); err != nil {
			return nil, err
		}
	}
	key, err := d.Device.Load(pk)
	if err == nil {
		d.keys[key] = pk
	}
	return key, err
}

func (d *device) Begin(task *gpu.Task) (gpu.Run, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	pk := d.keys[task.Key]
	if d.begin != nil {
		if err := d.begin(pk); err != nil {
			return nil, err
		}
	}
	run, err := d.Device.Begin(task)
	if err != nil {
		return nil, err
	}
	if d.begun != nil {
		d.begun <- struct{}{}
	}
	r := &deviceRun{Run: run, done: make(chan struct{})}
	if d.end != nil {
		r.err = d.end(pk)
	}
	if i := slices.IndexFunc(task.Inputs, d.refuses); i >= 0 {
		r.err = &gpu.InputError{Input: i, Err: errors.New("refused")}
	}
	if d.wrong != nil && d.wrong(pk) {
		r.swap = foreignProof(pk.Curve)
	}
	gate := d.gate
	go func() {
		<-run.Done()
		if gate != nil {
			<-gate
		}
		close(r.done)
	}()
	return r, nil
}

func (d *device) refuses(in gpu.Input) bool { return d.bad != nil && d.bad(in) }

type deviceRun struct {
	gpu.Run
	done chan struct{}
	err  error
	swap *groth16.Proof
}

func (r *deviceRun) Done() <-chan struct{} { return r.done }

func (r *deviceRun) Result() ([]*groth16.Proof, gpu.Timings, error) {
	proofs, timings, err := r.Run.Result()
	if r.err != nil {
		return nil, timings, r.err
	}
	for i := range proofs {
		if r.swap != nil {
			proofs[i] = r.swap
		}
	}
	return proofs, timings, err
}

// foreignProof is a well-formed proof of another statement than any of the tests'.
func foreignProof(curve groth16.Curve) *groth16.Proof {
	data, err := circuits.File("commit", curve.String(), circuits.Proof)
	if err != nil {
		panic(err)
	}
	proof := new(groth16.Proof)
	if err := proof.UnmarshalJSON(data); err != nil {
		panic(err)
	}
	return proof
}

func always(*groth16.ProvingKey) bool { return true }

// once is true the first time.
func once() func(*groth16.ProvingKey) bool {
	n := 0
	return func(*groth16.ProvingKey) bool { n++; return n == 1 }
}

// isKnown tells the built-in circuit from the tests'.
func isKnown(pk *groth16.ProvingKey) bool { return pk.Vars == knownVars && pk.Domain == knownDomain }

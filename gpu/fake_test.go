package gpu

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/pinion-zk/pinion/groth16"
)

// fake is a Device that does what the test tells it, and writes down how it is called.
type fake struct {
	info      Info
	begun     chan *fakeRun // each run, when it begins
	beginErr  error
	loadErr   error
	unloadErr error
	panics    string // the method that panics
	batch     int    // Footprint.Batch

	mu      sync.Mutex
	calls   []string
	runs    []*fakeRun
	threads map[int]bool
}

func newFake(overlap int) *fake {
	return &fake{
		info:    Info{Name: "fake", Kind: CUDA, Memory: 1 << 30, Synthesis: OnDevice, Overlap: overlap},
		begun:   make(chan *fakeRun, 100),
		batch:   1,
		threads: make(map[int]bool),
	}
}

func (d *fake) called(format string, args ...any) {
	call := fmt.Sprintf(format, args...)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls = append(d.calls, call)
	d.threads[unix.Gettid()] = true
	if d.panics == call {
		panic("a secret " + call)
	}
}

func (d *fake) Info() Info { return d.info }
func (d *fake) Footprint(*groth16.ProvingKey) (Footprint, error) {
	return Footprint{Key: 7, Task: 8, Batch: d.batch}, nil
}

func (d *fake) Load(pk *groth16.ProvingKey) (Key, error) {
	d.called("load %d", pk.Vars)
	if d.loadErr != nil {
		return nil, d.loadErr
	}
	return &fakeKey{d, pk.Vars}, nil
}

func (d *fake) Begin(t *Task) (Run, error) {
	d.called("begin %d", t.Inputs[0].Witness[0])
	if d.beginErr != nil {
		return nil, d.beginErr
	}
	r := &fakeRun{device: d, task: t, uploaded: make(chan struct{}), done: make(chan struct{})}
	r.proofs = make([]*groth16.Proof, len(t.Inputs))
	for i := range r.proofs {
		r.proofs[i] = &groth16.Proof{Curve: groth16.Curve(t.Inputs[i].Witness[0])}
	}
	d.mu.Lock()
	d.runs = append(d.runs, r)
	d.mu.Unlock()
	d.begun <- r
	return r, nil
}

func (d *fake) Close() error {
	d.called("close")
	return nil
}

type fakeKey struct {
	device *fake
	n      int
}

func (k *fakeKey) Bytes() int64 { return 7 }

func (k *fakeKey) Unload() error {
	k.device.called("unload %d", k.n)
	return k.device.unloadErr
}

type fakeRun struct {
	device         *fake
	task           *Task
	uploaded, done chan struct{}
	proofs         []*groth16.Proof
	err            error
}

func (r *fakeRun) name() int                 { return int(r.task.Inputs[0].Witness[0]) }
func (r *fakeRun) Uploaded() <-chan struct{} { return r.uploaded }
func (r *fakeRun) Done() <-chan struct{}     { return r.done }

func (r *fakeRun) Result() ([]*groth16.Proof, Timings, error) {
	r.device.called("result %d", r.name())
	return r.proofs, Timings{MSM: 5}, r.err
}

// finish ends the run with err.
func (r *fakeRun) finish(err error) {
	r.err = err
	close(r.done)
}

// start makes an executor with one loaded key.
func start(t *testing.T, d *fake, queue int) (*Executor, Key) {
	t.Helper()
	e, err := NewExecutor(d, queue)
	if err != nil {
		t.Fatal(err)
	}
	key, err := e.Load(t.Context(), &groth16.ProvingKey{Vars: 1})
	if err != nil {
		t.Fatal(err)
	}
	return e, key
}

// task is one whose inputs are named by numbers.
func task(key Key, names ...byte) *Task {
	t := &Task{Key: key}
	for _, n := range names {
		t.Inputs = append(t.Inputs, Input{Witness: []byte{n}})
	}
	return t
}

func submit(t *testing.T, e *Executor, ctx context.Context, k Key, names ...byte) *Ticket {
	t.Helper()
	ticket, err := e.Submit(ctx, task(k, names...))
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

func is(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

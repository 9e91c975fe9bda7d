package engine

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// together runs n calls at once.
func together(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

// P9: 32 proofs of 4 circuits at once.
func TestP9ConcurrentProofs(t *testing.T) {
	requests := []Request{
		example(t, "multiplier", "bn128"), example(t, "commit", "bn128"), example(t, "multiplier", "bls12381"),
		{Circuit: named("plain-bls12381"), Witnesses: []Witness{product(t, groth16.BLS12381, 3, 5, 15)}},
	}
	r := newRig(t)
	together(32, func(i int) { r.prove(requests[i%len(requests)]) })
	if got := r.Stats(); got.Proofs != 32 || got.Loads != 4 || got.Wrong != 0 {
		t.Errorf("counted %+v, expected 32 proofs, each of 4 circuits loaded once, and no wrong proof", got)
	}
	r.idle()
}

// C1: 16 parallel jobs over two circuits, each with several proofs, that come in the order of their witnesses.
func TestC1ParallelJobs(t *testing.T) {
	r := newRig(t, withSynthesis(gpu.OnDevice))
	together(16, func(i int) {
		req, curve := Request{Circuit: named("multiplier-bn128")}, groth16.BN254
		if i%2 == 1 {
			req, curve = Request{Circuit: named("multiplier-bls12381")}, groth16.BLS12381
		}
		for k := range uint64(2) {
			a := uint64(i) + 2
			req.Witnesses = append(req.Witnesses, product(t, curve, a, k+1, a*(k+1)))
		}
		out := r.prove(req)
		if out == nil {
			return
		}
		for k, p := range out.Proofs {
			if got, want := publicJSON(t, p.Public), fmt.Sprintf(`["%d"]`, (i+2)*(k+1)); got != want {
				t.Errorf("public signals of proof %d of job %d are %s, expected %s", k, i, got, want)
			}
		}
	})
	r.idle()
}

func publicJSON(t *testing.T, p groth16.Public) string {
	t.Helper()
	data, err := p.MarshalJSON()
	if err != nil {
		t.Error(err)
	}
	var compact bytes.Buffer
	for _, c := range data {
		if c != ' ' && c != '\n' {
			compact.WriteByte(c)
		}
	}
	return compact.String()
}

// C2: the witnesses of 16 different inputs, calculated in parallel, are those calculated one at a time.
func TestC2ParallelCalculations(t *testing.T) {
	r := newRig(t)
	inputs := func(i int) Request {
		return Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{{Inputs: fmt.Appendf(nil, `{"a": %d, "b": "%d"}`, i+3, 1000+i)}}}
	}
	var one, parallel [16]groth16.Public
	for i := range one {
		if out := r.prove(inputs(i)); out != nil {
			one[i] = out.Proofs[0].Public
		}
	}
	together(16, func(i int) {
		if out := r.prove(inputs(i)); out != nil {
			parallel[i] = out.Proofs[0].Public
		}
	})
	for i := range one {
		if !bytes.Equal(one[i], parallel[i]) {
			t.Errorf("inputs %d give other public signals in parallel", i)
		}
	}
	r.idle()
}

func TestExamplesFromInputs(t *testing.T) {
	r := newRig(t)
	for _, name := range circuits.Names {
		for _, curve := range circuits.Curves {
			inputs, err := circuits.Input(name)
			if err != nil {
				t.Fatal(err)
			}
			want, err := circuits.File(name, curve, circuits.Public)
			if err != nil {
				t.Fatal(err)
			}
			var public groth16.Public
			if err := public.UnmarshalJSON(want); err != nil {
				t.Fatal(err)
			}
			out := r.prove(Request{Circuit: named(name + "-" + curve), Witnesses: []Witness{{Inputs: inputs}}})
			if out != nil && !bytes.Equal(out.Proofs[0].Public, public) {
				t.Errorf("%s on %s: public signals differ from snarkjs's", name, curve)
			}
		}
	}
	r.idle()
}

// P11: a device that is far slower than synthesis. What lies ready is bounded by the workers, the executor's queue and the device,
// and so is the memory in use, however many jobs there are.
func TestP11SlowDevice(t *testing.T) {
	const jobs, workers, queue = 24, 2, 1
	var ready, most int // tasks that are filled, or being filled, and not done
	var mu sync.Mutex
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		ready += n
		most = max(most, ready)
	}
	gate, waiting := make(chan struct{}), make(chan struct{}, jobs)
	r := newRig(t, withDevice(func(d *device) { d.gate = gate }), withSynthesis(gpu.OnHost))
	overlap := max(1, r.device.Info().Overlap)
	bound := workers + queue + overlap

	var inUse int64
	var all sync.WaitGroup
	for i := range jobs {
		req := multiply(t, uint64(i)+2, 3)
		req.Observe = func(e Event) {
			switch e.Phase {
			case PhaseWitness:
				count(1)
			case PhaseWait:
				waiting <- struct{}{}
			case PhaseCheck:
				count(-1)
			}
			mu.Lock()
			inUse = max(inUse, r.pool.Stats().InUseBytes)
			mu.Unlock()
		}
		all.Go(func() { r.prove(req) })
	}
	// Each proof is let go only when everything before the device is full.
	seen := 0
	for done := range jobs {
		for seen < min(jobs, done+bound) {
			<-waiting
			seen++
		}
		gate <- struct{}{}
	}
	all.Wait()

	// A job counts until it is seen in its check, a little after the device took the next.
	if most > bound+overlap+1 {
		t.Errorf("%d tasks lay ready at once, expected at most %d", most, bound+overlap+1)
	}
	if slot := 3 * r.pool.Size(4*groth16.ScalarSize); inUse > int64(bound+overlap+1)*slot {
		t.Errorf("%d bytes of buffers were out at once, expected at most %d", inUse, int64(bound+overlap+1)*slot)
	}
	r.idle()
}

// Jobs that don't fit beside each other wait for memory, and all are proven.
func TestJobsWaitForMemory(t *testing.T) {
	whole := budgetFor(t, "multiplier-bn128")
	tight := newRig(t, withBudget(whole))
	together(8, func(i int) { tight.prove(multiply(t, uint64(i)+2, 3)) })
	tight.idle()

	_, err := newRig(t, withBudget(whole-1)).Prove(context.Background(), multiply(t, 2, 3))
	e := expectError(t, err, CodeTooLarge, true)
	expectText(t, e, fmt.Sprintf("too_large: circuit multiplier-bn128: host memory: memory budget: %d bytes wanted, %d bytes in all", whole, whole-1))
}

// A job's buffers go back when the device has its own copy, long before the proof is there.
func TestBuffersGoBackWhenUploaded(t *testing.T) {
	gate, begun := make(chan struct{}), make(chan struct{}, 1)
	r := newRig(t, withDevice(func(d *device) { d.gate, d.begun = gate, begun }))
	proven := make(chan struct{})
	go func() { r.prove(multiply(t, 3, 5)); close(proven) }()
	<-begun

	circuits := int64(0)
	r.circuits.mu.Lock()
	for _, c := range r.circuits.table {
		circuits += c.memory.host.Bytes()
	}
	r.circuits.mu.Unlock()
	rest, err := r.budget.Reserve(context.Background(), r.budget.Total()-circuits) // waits for the buffers
	if err != nil {
		t.Fatal(err)
	}
	rest.Close()
	gate <- struct{}{}
	<-proven
}

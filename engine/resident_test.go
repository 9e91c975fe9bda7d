package engine

import (
	"context"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// budgetFor is memory for any one of the circuits with a job of it, but not for another circuit beside.
func budgetFor(t *testing.T, names ...string) int64 {
	t.Helper()
	r := newRig(t)
	var most int64
	for _, name := range names {
		s, _, err := r.measure(named(name))
		if err != nil {
			t.Fatal(err)
		}
		job := (&Job{engine: r.Engine}).cost(s, 1)
		whole := job.host + s.mapped + r.onDevice(s.footprint.Key).host
		for _, n := range job.buffers {
			whole += r.pool.Size(n)
		}
		most = max(most, whole)
	}
	return most
}

func TestLeastRecentlyUsedGoesUnderPressure(t *testing.T) {
	names := []string{"commit-bn128", "commit-bls12381"}
	r := newRig(t, withBudget(budgetFor(t, names...)))
	for range 2 {
		r.prove(example(t, "commit", "bn128"))
		r.prove(example(t, "commit", "bls12381"))
	}
	if got := r.Stats(); got.Loads != 4 || got.Evictions != 3 || got.Circuits != 1 {
		t.Errorf("counted %+v, expected 4 loads, 3 evictions, one circuit left", got)
	}
	r.idle()
}

// A circuit in use stays; who needs its memory waits for its job.
func TestNotEvictedWhileInUse(t *testing.T) {
	gate, begun := make(chan struct{}), make(chan struct{}, 2)
	names := []string{"commit-bn128", "commit-bls12381"}
	r := newRig(t, withBudget(budgetFor(t, names...)), withDevice(func(d *device) { d.gate, d.begun = gate, begun }))
	done := make(chan struct{}, 2)
	go func() { r.prove(example(t, "commit", "bn128")); done <- struct{}{} }()
	<-begun

	waits := make(chan struct{})
	second := example(t, "commit", "bls12381")
	second.Observe = func(e Event) {
		if e.Phase == PhaseAdmit {
			close(waits)
		}
	}
	go func() { r.prove(second); done <- struct{}{} }()
	<-waits
	if freed := r.circuits.reclaimHost(1); freed != 0 {
		t.Errorf("a circuit in use was unloaded")
	}
	close(gate)
	<-done
	<-done
	if got := r.Stats(); got.Loads != 2 || got.Evictions != 1 {
		t.Errorf("counted %+v, expected 2 loads and 1 eviction", got)
	}
	r.idle()
}

// Many jobs over more circuits than fit: nobody waits for ever for memory that another's circuit takes.
func TestMoreCircuitsThanFit(t *testing.T) {
	curves := []string{"bn128", "bls12381"}
	r := newRig(t, withBudget(budgetFor(t, "commit-bn128", "commit-bls12381")*5/4))
	together(8, func(i int) {
		name := "commit"
		if i%4 >= 2 {
			name = "multiplier"
		}
		r.prove(example(t, name, curves[i%2]))
	})
	r.idle()
}

func TestPreload(t *testing.T) {
	r := newRig(t)
	for range 2 {
		if err := r.Preload(context.Background(), named("multiplier-bn128")); err != nil {
			t.Fatal(err)
		}
	}
	r.idle()
	r.prove(multiply(t, 3, 5))
	if got := r.Stats(); got.Loads != 1 || got.Circuits != 1 {
		t.Errorf("counted %+v, expected one load", got)
	}
	expectError(t, r.Preload(context.Background(), named("nothing")), CodeUnknownCircuit, true)
	expectError(t, r.Preload(context.Background(), named("forgeable")), CodeForgeable, false)
}

func TestConcurrentFirstUseLoadsOnce(t *testing.T) {
	r := newRig(t)
	together(8, func(i int) { r.prove(multiply(t, uint64(i)+2, 3)) })
	if got := r.Stats().Loads; got != 1 {
		t.Errorf("%d loads, expected 1", got)
	}
	r.idle()
}

// Loading that its first caller gave up is taken up by the next.
func TestLoadIsCancelledByItsCallerOnly(t *testing.T) {
	r := newRig(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	together(8, func(i int) {
		if i%2 == 0 {
			r.fails(ctx, multiply(t, 2, 3), CodeCancelled, false)
		} else {
			r.prove(multiply(t, 2, 3))
		}
	})
	r.idle()
}

// Memory that is on its way back isn't asked of another circuit.
func TestUnloadingCountsAsFreed(t *testing.T) {
	loading, free := make(chan struct{}), make(chan struct{})
	r := newRig(t)
	for _, name := range []string{"multiplier-bn128", "plain-bn128"} {
		if err := r.Preload(context.Background(), named(name)); err != nil {
			t.Fatal(err)
		}
	}
	r.device.set(func(d *device) {
		d.load = func(*groth16.ProvingKey) error { close(loading); <-free; return nil }
	})
	loaded := make(chan error, 1)
	go func() { loaded <- r.Preload(context.Background(), named("commit-bn128")) }()
	<-loading // the executor can't unload now

	first, second := r.circuits.reclaimHost(1), r.circuits.reclaimHost(1)
	if first <= 0 || second != first {
		t.Errorf("%d and %d bytes were given up, expected the same twice", first, second)
	}
	close(free)
	if err := <-loaded; err != nil {
		t.Error(err)
	}
	if got := r.Stats(); got.Evictions != 1 || got.Circuits != 2 {
		t.Errorf("counted %+v, expected one eviction, and 2 circuits left", got)
	}
}

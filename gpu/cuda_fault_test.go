package gpu

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// attempt loads x and proves it once; whatever fails, the key is unloaded again.
func (r *rig) attempt(x *example) error {
	r.t.Helper()
	key, err := r.Load(r.t.Context(), x.ProvingKey())
	if err != nil {
		return err
	}
	proofs, err := r.prove(key, x.witness)
	if err == nil {
		x.verify(r.t, proofs, 1)
	}
	return errors.Join(err, r.Unload(r.t.Context(), key))
}

// forEach fails the n-th event of a kind in a load and a proof, for each n that next goes through. Each attempt but the last has to
// fail, and after it the next has to work, with all memory back.
func (r *rig) forEach(what failure, next func(n uint64) uint64, x *example, check func(n uint64, err error)) {
	r.t.Helper()
	const most = 10_000
	for n := uint64(1); n < most; n = next(n) {
		r.fail(what, n)
		err := r.attempt(x)
		happened := r.count(what) >= n
		r.fail(what, 0)
		if !happened {
			if n == 1 || err != nil {
				r.t.Errorf("%v %d of %d: %v", what, n, n-1, err)
			}
			return
		}
		check(n, err)
		if used := usedBy(r.t, r.card); used != r.used {
			r.t.Fatalf("%v %d: %d bytes of the card are in use, want %d", what, n, used, r.used)
		}
		if r.Healthy() != nil {
			r.t.Fatalf("%v %d: unhealthy: %v", what, n, r.Healthy())
		}
		if n%8 == 1 {
			r.good(x)
		}
	}
	r.t.Errorf("%d times and no end", most)
}

// P3: memory that isn't there, at any moment, is the end of one job, which may be tried again, and of nothing else.
func TestP3EveryAllocationFails(t *testing.T) {
	for _, what := range []failure{failAllocation, failPinnedAllocation} {
		t.Run(what.String(), func(t *testing.T) {
			r := newRig(t)
			x := openExample(t, "multiplier", "bn128")
			every := func(n uint64) uint64 { return n + 1 }
			r.forEach(what, every, x, func(n uint64, err error) {
				if !errors.Is(err, ErrMemory) || errors.Is(err, ErrFault) {
					t.Errorf("%v %d: %v", what, n, err)
				}
			})
			r.good(x)
		})
	}
}

// P7: a failure in any phase leaves the memory and the device as they were.
func TestP7FailInEachPhase(t *testing.T) {
	for _, what := range []failure{failLaunch, failCopy} {
		t.Run(what.String(), func(t *testing.T) {
			r := newRig(t)
			x := openExample(t, "multiplier", "bls12381")
			some := func(n uint64) uint64 { return n + 1 + n/4 } // of each phase
			r.forEach(what, some, x, func(n uint64, err error) {
				if err == nil || errors.Is(err, ErrMemory) || errors.Is(err, ErrFault) {
					t.Errorf("%v %d: %v", what, n, err)
				}
			})
			r.good(x)
		})
	}
}

// P5: after an error that sticks to the device it is unhealthy, says so, and does no more work.
func TestP5StickyError(t *testing.T) {
	for _, n := range []uint64{1, 2, 9} {
		t.Run(fmt.Sprint("launch ", n), func(t *testing.T) { stickyError(t, n) })
	}
}

func stickyError(t *testing.T, n uint64) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	key := r.load(x)
	r.fail(failSticky, n)
	if _, err := r.prove(key, x.witness); !errors.Is(err, ErrFault) {
		t.Errorf("error %v", err)
	}
	if fault := r.Healthy(); !errors.Is(fault, ErrFault) {
		t.Errorf("healthy: %v", fault)
	}
	if _, err := r.prove(key, x.witness); !errors.Is(err, ErrUnhealthy) || !errors.Is(err, ErrFault) {
		t.Errorf("the next task: %v", err)
	}
	if _, err := r.Load(t.Context(), x.ProvingKey()); !errors.Is(err, ErrUnhealthy) {
		t.Errorf("the next load: %v", err)
	}
	if _, err := r.card.Begin(&Task{Key: key, Inputs: []Input{{Witness: x.witness}}}); !errors.Is(err, ErrFault) {
		t.Errorf("the card itself: %v", err)
	}
}

// A sticky error while a key is loaded is the end of the device too.
func TestP5StickyErrorInLoad(t *testing.T) {
	r := newRig(t)
	x := openExample(t, "multiplier", "bn128")
	r.fail(failSticky, 1)
	if _, err := r.Load(t.Context(), x.ProvingKey()); err == nil {
		t.Skip("a load launches nothing")
	} else if !errors.Is(err, ErrFault) || !errors.Is(r.Healthy(), ErrFault) {
		t.Errorf("error %v, health %v", err, r.Healthy())
	}
}

// P4: a bit that is flipped in the result of a transform or a sum gives a proof that doesn't verify, or none, and not an error:
// the engine checks proofs, makes a wrong one again, and counts it.
func TestP4FlippedBit(t *testing.T) {
	for _, what := range []failure{flipNTT, flipMSM} {
		t.Run(what.String(), func(t *testing.T) {
			r := newRig(t)
			x := openExample(t, "multiplier", "bn128")
			key := r.load(x)
			wrong := 0
			for n := uint64(1); ; n++ {
				r.fail(what, n)
				proofs, err := r.prove(key, x.witness)
				happened := r.count(what) >= n
				r.fail(what, 0)
				if err != nil {
					t.Fatal(err)
				}
				if !happened {
					x.verify(t, proofs, 1)
					break
				}
				if proofs[0] != nil && x.VerifyingKey().Verify(proofs[0], groth16.PublicFromWitness(x.witness, x.ProvingKey().Public)) == nil {
					t.Errorf("%v %d: the proof verifies", what, n)
				}
				wrong++
			}
			if wrong == 0 {
				t.Error("nothing was flipped")
			}
			r.unload(key)
		})
	}
}

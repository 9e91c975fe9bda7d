package bn254

import (
	"runtime"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
)

// scratch is the memory of one proof, kept for the next one.
type scratch struct {
	a, b, c           fr.Vector // a and b only where the input has none
	witness, quotient plan
	workers           []*worker
}

// worker has what it needs to do one task of a sum after the other.
type worker struct {
	adderG1   *adderG1
	adderG2   *adderG2
	bucketsG1 []affineG1
	bucketsG2 []affineG2
}

func newScratch(key *backend.ProvingKey) *scratch {
	n := runtime.GOMAXPROCS(0)
	s := &scratch{c: make(fr.Vector, key.Domain)}
	points := max(key.Vars, key.Domain)
	block1, block2 := blockFor(points, blockG1), blockFor(points, blockG2)
	for range n {
		s.workers = append(s.workers, &worker{adderG1: newAdderG1(block1), adderG2: newAdderG2(block2)})
	}
	return s
}

// operands returns vectors for a and b: those of the input, or else the scratch's.
func (s *scratch) operands(in backend.Input, n int) (a, b fr.Vector, err error) {
	if in.A == nil {
		s.a, s.b = reuse(s.a, n), reuse(s.b, n)
		return s.a, s.b, nil
	}
	if a, err = writable[fr.Element](in.A, n); err != nil {
		return nil, nil, err
	}
	b, err = writable[fr.Element](in.B, n)
	return a, b, err
}

// clear erases all that depends on the witness. No task may be running.
func (s *scratch) clear() {
	clear(s.a)
	clear(s.b)
	clear(s.c)
	s.witness.clear()
	s.quotient.clear()
	for _, w := range s.workers {
		w.adderG1.clear()
		w.adderG2.clear()
		clear(w.bucketsG1)
		clear(w.bucketsG2)
	}
}

// scratchBytes bounds the memory of a scratch, whatever the witness.
func scratchBytes(key *backend.ProvingKey) int64 {
	n, vars := key.Domain, key.Vars
	points := max(n, vars)
	worker := adderBytesG1(blockFor(points, blockG1)) + adderBytesG2(blockFor(points, blockG2)) + maxBuckets(points)*(g1Size+g2Size)
	return int64(3*n*fr.Bytes) + int64(planBytes(n)) + int64(planBytes(vars)) + int64(runtime.GOMAXPROCS(0)*worker)
}

// maxBuckets bounds the buckets of a task in a sum of up to n points: those of its last window, and those before.
func maxBuckets(n int) int {
	longest := dense(n)
	return 1<<(longest.width()-1) + taskSize/perBucket
}

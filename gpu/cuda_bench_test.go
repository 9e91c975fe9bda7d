package gpu

import (
	"errors"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// openBench opens the card of the tests without an executor. At the end of the test all its memory is back.
func openBench(t *testing.T) *Card {
	t.Helper()
	card, err := OpenCUDA(cardLibrary(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	used := usedBy(t, card)
	t.Cleanup(func() {
		if now := usedBy(t, card); now != used {
			t.Errorf("%d bytes of the card are in use, want %d as at the start", now, used)
		}
		if err := card.Close(); err != nil {
			t.Error(err)
		}
	})
	return card
}

// Every kind of measurement on both curves: its result is right, or there would be an error.
func TestCUDABench(t *testing.T) {
	card := openBench(t)
	for _, curve := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		for _, what := range []BenchCase{
			{Kind: BenchMultiplications, Log: 4},
			{Kind: BenchAdditions, Group: 1, Log: 4},
			{Kind: BenchAdditions, Group: 2, Log: 4},
			{Kind: BenchMSM, Group: 1, Log: 4, Tables: 1},
			{Kind: BenchMSM, Group: 1, Log: 4, Sparse: 850},
			{Kind: BenchMSM, Group: 1, Log: 1, Sparse: 1000, Tables: 1},
			{Kind: BenchMSM, Group: 2, Log: 2, Tables: 1},
			{Kind: BenchNTTDown, Log: 1},
			{Kind: BenchNTTDown, Log: 8},
			{Kind: BenchNTTUp, Log: 7},
			{Kind: BenchQuotient, Log: 6},
		} {
			what.Curve, what.Repetitions = curve, 1
			result, err := card.Bench(what)
			if err != nil {
				t.Error(err)
				continue
			}
			if result.Least <= 0 || result.Median < result.Least || result.Greatest < result.Median {
				t.Errorf("%v: %v, %v, %v", what, result.Least, result.Median, result.Greatest)
			}
			if sum := what.Kind == BenchMSM; sum != (result.Bits > 0) || sum != (result.Tables > 0) || what.Sparse < 1000 && result.Operations == 0 {
				t.Errorf("%v: %+v", what, result)
			}
		}
	}
}

// A sparse sum has fewer digits than a dense one: one that has nothing but zeros and ones at most one a scalar.
func TestCUDABenchSparse(t *testing.T) {
	card := openBench(t)
	operations := make(map[int]uint64)
	for _, sparse := range []int{0, 850, 1000} {
		result, err := card.Bench(BenchCase{Kind: BenchMSM, Curve: groth16.BN254, Group: 1, Log: 6, Tables: 1, Sparse: sparse, Repetitions: 1})
		if err != nil {
			t.Fatal(err)
		}
		operations[sparse] = result.Operations
	}
	if operations[1000] > 64 || operations[850] < operations[1000] || operations[850] > operations[0]/2 {
		t.Errorf("additions by share of zeros and ones: %v", operations)
	}
}

// A wrong result is no measurement.
func TestCUDABenchNoticesWrongResults(t *testing.T) {
	card := openBench(t)
	for what, armed := range map[BenchCase]failure{
		{Kind: BenchMSM, Curve: groth16.BN254, Group: 1, Log: 3, Tables: 1, Repetitions: 1}:    flipMSM,
		{Kind: BenchMSM, Curve: groth16.BLS12381, Group: 2, Log: 2, Tables: 1, Repetitions: 1}: flipMSM,
		{Kind: BenchQuotient, Curve: groth16.BLS12381, Log: 3, Repetitions: 1}:                 flipNTT,
	} {
		arm(t, card, armed, 2) // of one repetition that doesn't count, and one that does
		_, err := card.Bench(what)
		if !errors.Is(err, ErrFault) || !strings.HasPrefix(err.Error(), "measure "+what.String()+" on "+card.Info().Name+": device fault: its result is wrong: found ") {
			t.Errorf("%v: error %v", what, err)
		}
		arm(t, card, armed, 0)
	}
}

func TestCUDABenchRefuses(t *testing.T) {
	card := openBench(t)
	name := card.Info().Name
	good := BenchCase{Kind: BenchMSM, Curve: groth16.BN254, Group: 1, Log: 3, Tables: 1, Repetitions: 1}
	for want, spoil := range map[string]func(c *BenchCase){
		"measure kind 9 bn128 G1 2^3 on " + name + ": measurement: a known kind expected, found 9":                        func(c *BenchCase) { c.Kind = 9 },
		"measure MSM curve(3) G1 2^3 on " + name + ": measurement: a known curve expected, found 3":                       func(c *BenchCase) { c.Curve = 3 },
		"measure MSM bn128 2^3 on " + name + ": measurement: group 1 or 2 expected, found 0":                              func(c *BenchCase) { c.Group = 0 },
		"measure MSM bn128 G1 2^28 on " + name + ": measurement: a logarithm of the size from 1 to 27 expected, found 28": func(c *BenchCase) { c.Log = 28 },
		"measure MSM bn128 G1 2^3 on " + name + ": measurement: a share of at most 1000 expected, found 1001":             func(c *BenchCase) { c.Sparse = 1001 },
		"measure MSM bn128 G1 2^3 on " + name + ": measurement: 1 to 1000 repetitions expected, found 0":                  func(c *BenchCase) { c.Repetitions = 0 },
	} {
		what := good
		spoil(&what)
		_, err := card.Bench(what)
		wantText(t, err, want)
	}
	arm(t, card, failAllocation, 3)
	_, err := card.Bench(good)
	if !errors.Is(err, ErrMemory) {
		t.Errorf("without memory: %v", err)
	}
	arm(t, card, failAllocation, 0)
	if _, err := card.Bench(good); err != nil {
		t.Errorf("after that: %v", err)
	}
}

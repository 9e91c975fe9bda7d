package main

import (
	"math"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// Floors are what work would take if it were its arithmetic alone, at the rates that the bare operations have on the same card in the same
// run. Nothing is counted for memory, for sorting, or for work that doesn't fill the card. Sums and proofs can be faster only by other
// algorithms.

// benchRates are bare operations per second: products in Fr, and additions in G1 and G2 of an affine point to another.
type benchRates struct {
	Multiplications float64 `json:"multiplications"`
	G1              float64 `json:"g1"`
	G2              float64 `json:"g2"`
}

// scalarMix is what the scalars of a sum are. Zeros cost nothing, and a one costs one addition.
type scalarMix struct{ full, ones float64 }

// mixOf is that of n scalars, sparse in a thousand of which are zero or one, half and half.
func mixOf(n, sparse int) scalarMix {
	small := float64(n) * float64(sparse) / 1000
	return scalarMix{full: float64(n) - small, ones: small / 2}
}

// anyTables is as many tables of multiples as there are windows.
const anyTables = 1 << 10

// sumAdditions is the additions of a sum of products in the way of Pippenger, with the best width of windows. In windows of c bits a scalar
// of b bits has b/c + 1 signed digits, each an addition to a bucket unless it is zero, once in 2^c. A set of 2^(c-1) buckets is summed up
// with two additions to a bucket. Every window has a set, but those that tables of multiples of the bases bring together.
func sumAdditions(curve groth16.Curve, mix scalarMix, tables int) float64 {
	bits := curve.ScalarModulus().BitLen()
	least := 0.0
	for c := 2; c <= 24; c++ {
		windows := bits/c + 1
		sets := (windows + tables - 1) / tables
		additions := mix.full*float64(windows)*(1-1/float64(int(1)<<c)) + mix.ones + 2*float64(sets)*float64(int(1)<<(c-1))
		if c == 2 || additions < least {
			least = additions
		}
	}
	return least
}

func (r benchRates) additions(group groth16.Group) float64 {
	if group == groth16.G1 {
		return r.G1
	}
	return r.G2
}

// sum is the floor of a sum.
func (r benchRates) sum(curve groth16.Curve, group groth16.Group, mix scalarMix, tables int) time.Duration {
	return seconds(sumAdditions(curve, mix, tables) / r.additions(group))
}

// transforms is the floor of count transforms of 2^log elements: half as many products as elements in each of log steps.
func (r benchRates) transforms(count, log int) time.Duration {
	return seconds(float64(count) * float64(log) * float64(int(1)<<log) / 2 / r.Multiplications)
}

func seconds(s float64) time.Duration { return time.Duration(math.Round(s * float64(time.Second))) }

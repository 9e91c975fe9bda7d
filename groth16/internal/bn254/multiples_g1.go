package bn254

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// MultiplesG1 implements backend.Curve.
func (Curve) MultiplesG1(scalars, points []byte) error {
	n := len(scalars) / fr.Bytes
	out, err := writable[affineG1](points, n)
	if err != nil {
		return err
	}
	multiplesG1(out, elements[fr.Element](scalars, n))
	return nil
}

// multiplesG1 sets each point to the multiple of the generator by its canonical scalar: a sum of one point from each window's table.
func multiplesG1(points []affineG1, scalars []fr.Element) {
	width := tableWidth(len(scalars))
	table := newTableG1(width)
	parallel.Do(len(points), splitSize, func(lo, hi int) {
		adder := newAdderG1(blockFor(hi-lo, blockG1))
		adder.begin(points[lo:hi])
		if err := adder.take(context.Background(), table, 0, tableTerms(scalars[lo:hi], width)); err != nil {
			panic(err) // but its context never ends
		}
		adder.end()
	})
}

// newTableG1 has the multiples of the generator by d times 2^(width i), for each window i and each d from 1 to 2^width.
func newTableG1(width int) []affineG1 {
	digits := 1 << width
	table := make([]affineG1, tableWindows(width)*digits)
	base := generatorG1()
	for at := 0; at < len(table); at += digits {
		table[at].FromJacobian(&base)
		for range width {
			base.DoubleAssign()
		}
	}
	parallel.Do(tableWindows(width), 1, func(lo, hi int) {
		adder := newAdderG1(blockFor(digits, blockG1))
		for ; lo < hi; lo++ {
			adder.ladder(table[lo*digits : (lo+1)*digits])
		}
	})
	return table
}

// ladder fills points, a power of two of them, with the multiples of the first by 1, 2, 3 and so on.
func (a *adderG1) ladder(points []affineG1) {
	for n := 1; n < len(points); n *= 2 {
		a.begin(points[n : 2*n])
		if err := a.take(context.Background(), points[:n], 0, pairsWithLast(n)); err != nil {
			panic(err) // but its context never ends
		}
		a.end()
	}
}

package bn254

import (
	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

func generatorG1() jacobianG1 {
	generator, _, _, _ := curve.Generators()
	return generator
}

func generatorG2() jacobianG2 {
	_, generator, _, _ := curve.Generators()
	return generator
}

// maxTableWidth keeps tables of multiples within a second level cache or two.
const maxTableWidth = 13

// tableWidth is the width in bits of the windows with which n multiples take the fewest additions, those for the tables included.
func tableWidth(n int) int {
	cost := func(width int) int { return tableWindows(width) * (n + 1<<width) }
	best := 1
	for width := 2; width <= maxTableWidth; width++ {
		if cost(width) < cost(best) {
			best = width
		}
	}
	return best
}

func tableWindows(width int) int { return (fr.Bits + width - 1) / width }

// tableTerms lists, for each scalar, the entries of the tables that its multiple is the sum of: one for each digit that isn't 0.
func tableTerms(scalars []fr.Element, width int) lists {
	windows, digits := tableWindows(width), 1<<width
	l := lists{terms: make([]uint32, 0, len(scalars)*windows), starts: make([]uint32, 1, len(scalars)+1)}
	for i := range scalars {
		for w := range windows {
			if d := digit(&scalars[i], w*width) & (digits - 1); d != 0 {
				l.terms = append(l.terms, uint32(w*digits+d-1)<<1)
			}
		}
		l.starts = append(l.starts, uint32(len(l.terms)))
	}
	return l
}

// pairsWithLast lists, for each of n points, the last of them and that one.
func pairsWithLast(n int) lists {
	l := lists{starts: []uint32{0}}
	for i := range n {
		l.terms = append(l.terms, uint32(n-1)<<1, uint32(i)<<1)
		l.starts = append(l.starts, uint32(len(l.terms)))
	}
	return l
}

// digit returns the bits of a scalar from the given one on, 32 of them at least but for those above the last limb.
func digit(scalar *fr.Element, bit int) int {
	limb, shift := bit/64, bit%64
	word := scalar[limb] >> shift
	if limb+1 < fr.Limbs {
		word |= scalar[limb+1] << 1 << (63 - shift)
	}
	return int(word)
}

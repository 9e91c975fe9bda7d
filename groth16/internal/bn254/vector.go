package bn254

import (
	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
)

type (
	fieldG1    = fp.Element
	affineG1   = curve.G1Affine
	jacobianG1 = curve.G1Jac

	fieldG2    = curve.E2
	affineG2   = curve.G2Affine
	jacobianG2 = curve.G2Jac
)

// vectorG1 are coordinates of points of G1. Its arithmetic is element by element; operands and result have one length
// and may be the same vectors. Where the CPU has AVX-512 IFMA, gnark-crypto multiplies eight at a time.
type vectorG1 struct{ v fp.Vector }

func newVectorG1(n int) vectorG1 { return vectorG1{make(fp.Vector, n)} }

func (z vectorG1) clear()                        { clear(z.v) }
func (z vectorG1) slice(lo, hi int) vectorG1     { return vectorG1{z.v[lo:hi]} }
func (z vectorG1) get(i int) fieldG1             { return z.v[i] }
func (z vectorG1) set(i int, x *fieldG1)         { z.v[i] = *x }
func (z vectorG1) copy(i int, x vectorG1, j int) { z.v[i] = x.v[j] }
func (z vectorG1) isZero(i int) bool             { return z.v[i].IsZero() }
func (z vectorG1) sub(x, y vectorG1)             { z.v.Sub(x.v, y.v) }
func (z vectorG1) mul(x, y vectorG1)             { z.v.Mul(x.v, y.v) }
func (z vectorG1) square(x vectorG1)             { z.v.Mul(x.v, x.v) }

// divide divides z by d, which is overwritten, and returns true; or false, and changes nothing, if there is a zero in d.
// The length is in whole lanes; tree needs room for twice as many elements, swap for as many.
func (z vectorG1) divide(d, tree, swap vectorG1) bool {
	if !invert(d.v, tree.v, swap.v) {
		return false
	}
	z.mul(z, d)
	return true
}

// vectorG2 are coordinates of points of G2, in Fq[u]/(u²+1): real parts and imaginary parts apart.
type vectorG2 struct{ re, im fp.Vector }

func newVectorG2(n int) vectorG2 { return vectorG2{make(fp.Vector, n), make(fp.Vector, n)} }

func (z vectorG2) clear()                        { clear(z.re); clear(z.im) }
func (z vectorG2) slice(lo, hi int) vectorG2     { return vectorG2{z.re[lo:hi], z.im[lo:hi]} }
func (z vectorG2) get(i int) fieldG2             { return fieldG2{A0: z.re[i], A1: z.im[i]} }
func (z vectorG2) set(i int, x *fieldG2)         { z.re[i], z.im[i] = x.A0, x.A1 }
func (z vectorG2) copy(i int, x vectorG2, j int) { z.re[i], z.im[i] = x.re[j], x.im[j] }
func (z vectorG2) isZero(i int) bool             { return z.re[i].IsZero() && z.im[i].IsZero() }

func (z vectorG2) sub(x, y vectorG2) {
	z.re.Sub(x.re, y.re)
	z.im.Sub(x.im, y.im)
}

// strip is how many products of vectorG2 are computed at a time, so that the intermediates stay in the fastest cache.
const strip = 64

// mul is Karatsuba's: (a+bu)(c+du) = ac-bd + ((a+b)(c+d)-ac-bd)u.
func (z vectorG2) mul(x, y vectorG2) {
	var memory [4][strip]fp.Element
	for lo := 0; lo < len(z.re); lo += strip {
		hi := min(lo+strip, len(z.re))
		a, b, c, d := x.re[lo:hi], x.im[lo:hi], y.re[lo:hi], y.im[lo:hi]
		sum, other := fp.Vector(memory[0][:hi-lo]), fp.Vector(memory[1][:hi-lo])
		ac, bd := fp.Vector(memory[2][:hi-lo]), fp.Vector(memory[3][:hi-lo])
		sum.Add(a, b)
		other.Add(c, d)
		sum.Mul(sum, other)
		ac.Mul(a, c)
		bd.Mul(b, d)
		sum.Sub(sum, ac)
		re, im := z.re[lo:hi], z.im[lo:hi]
		im.Sub(sum, bd)
		re.Sub(ac, bd)
	}
}

// square is (a+bu)² = (a+b)(a-b) + 2abu.
func (z vectorG2) square(x vectorG2) {
	var memory [2][strip]fp.Element
	for lo := 0; lo < len(z.re); lo += strip {
		hi := min(lo+strip, len(z.re))
		a, b := x.re[lo:hi], x.im[lo:hi]
		sum, difference := fp.Vector(memory[0][:hi-lo]), fp.Vector(memory[1][:hi-lo])
		sum.Add(a, b)
		difference.Sub(a, b)
		re, im := z.re[lo:hi], z.im[lo:hi]
		im.Mul(a, b)
		im.Add(im, im)
		re.Mul(sum, difference)
	}
}

// divide divides z by d as vectorG1.divide does: by way of the norm, whose inverse is one in Fq,
// (a+bu)/(c+du) = (a+bu)(c-du) / (c²+d²).
func (z vectorG2) divide(d, tree, swap vectorG2) bool {
	norms, squares := tree.im[:len(d.re)], swap.im[:len(d.re)]
	norms.Mul(d.re, d.re)
	squares.Mul(d.im, d.im)
	norms.Add(norms, squares)
	if !invert(norms, tree.re, swap.re) {
		return false
	}
	z.mulConjugate(z, d)
	z.re.Mul(z.re, norms)
	z.im.Mul(z.im, norms)
	return true
}

// mulConjugate is (a+bu)(c-du) = ac+bd + ((a+b)(c-d)-ac+bd)u.
func (z vectorG2) mulConjugate(x, y vectorG2) {
	var memory [4][strip]fp.Element
	for lo := 0; lo < len(z.re); lo += strip {
		hi := min(lo+strip, len(z.re))
		a, b, c, d := x.re[lo:hi], x.im[lo:hi], y.re[lo:hi], y.im[lo:hi]
		sum, other := fp.Vector(memory[0][:hi-lo]), fp.Vector(memory[1][:hi-lo])
		ac, bd := fp.Vector(memory[2][:hi-lo]), fp.Vector(memory[3][:hi-lo])
		sum.Add(a, b)
		other.Sub(c, d)
		sum.Mul(sum, other)
		ac.Mul(a, c)
		bd.Mul(b, d)
		sum.Sub(sum, ac)
		re, im := z.re[lo:hi], z.im[lo:hi]
		im.Add(sum, bd)
		re.Add(ac, bd)
	}
}

// lanes is how many products gnark-crypto computes at a time; what is over is computed one by one.
const lanes = 8

// invert inverts the elements of d by a tree of products (Montgomery's trick, a level at a time), or returns false, d unchanged,
// if there is a zero. The length is in whole lanes; tree needs room for twice as many elements, swap for half as many.
func invert(d, tree, swap fp.Vector) bool {
	low := len(d) / 2 / lanes * lanes
	if low == 0 {
		return invertFew(d)
	}
	high := len(d) - low
	products, tree := tree[:high], tree[high:]
	first, second := d[:low], d[high:]
	inverses := products[:low]
	inverses.Mul(first, second)
	copy(products[low:], d[low:high])
	if !invert(products, tree, swap) {
		return false
	}
	copy(d[low:high], products[low:])
	seconds := swap[:low]
	seconds.Mul(first, inverses)
	first.Mul(second, inverses)
	copy(second, seconds)
	return true
}

// invertFew inverts fewer elements than two lanes, one after the other.
func invertFew(d fp.Vector) bool {
	var before [2 * lanes]fp.Element
	product := fp.One()
	for i := range d {
		before[i] = product
		product.Mul(&product, &d[i])
	}
	if product.IsZero() {
		return false
	}
	product.Inverse(&product)
	for i := len(d) - 1; i >= 0; i-- {
		before[i].Mul(&before[i], &product)
		product.Mul(&product, &d[i])
		d[i] = before[i]
	}
	return true
}

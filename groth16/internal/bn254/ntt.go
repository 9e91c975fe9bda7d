package bn254

import (
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
	"github.com/consensys/gnark-crypto/utils"

	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// domain has the roots of unity for transforms of a power of two, n. Its root is a power of 5, which snarkjs takes on both curves;
// libraries for BLS12-381 take a power of 7, with which a zkey's points of H don't fit.
type domain struct {
	n int
	// twiddles[h+i], for each power of two h below n and i below h, is the i-th power of the root of order 2h.
	twiddles fr.Vector
	// shift has the factors by which toCoset multiplies coefficients, in the order that dif leaves them in.
	shift fr.Vector
	order fr.Element // the value of X^n on the coset
}

// domainBytes is the memory of a domain.
func domainBytes(n int) int64 { return 2 * fr.Bytes * int64(n) }

func newDomain(n int) *domain {
	logN := bits.TrailingZeros(uint(n))
	d := &domain{n: n, twiddles: make(fr.Vector, n), shift: make(fr.Vector, n)}
	root := rootOfUnity(logN)
	if n > 1 {
		powers(d.twiddles[n/2:], root)
	}
	for h := n / 4; h > 0; h /= 2 {
		for i := range h {
			d.twiddles[h+i] = d.twiddles[2*(h+i)]
		}
	}
	d.fillShift(cosetShift(logN), logN)
	return d
}

// rootOfUnity returns the root of order 2^logN.
func rootOfUnity(logN int) fr.Element {
	exponent := new(big.Int).Sub(fr.Modulus(), big.NewInt(1))
	exponent.Rsh(exponent, uint(logN))
	root := fr.NewElement(5)
	return *root.Exp(root, exponent)
}

// cosetShift returns the element that takes the domain of 2^logN to the coset of H: the root of twice the order, or,
// where there is none, 25.
func cosetShift(logN int) fr.Element {
	if logN == twoAdicity {
		return fr.NewElement(25)
	}
	return rootOfUnity(logN + 1)
}

// powers fills v, a power of two long, with the powers of x from 0 on.
func powers(v fr.Vector, x fr.Element) {
	v[0].SetOne()
	for done := 1; done < len(v); done *= 2 {
		next := v[done : 2*done]
		next.ScalarMul(v[:done], &x)
		x.Square(&x)
	}
}

// fillShift sets shift[rev(k)], where rev reverses logN bits, to s^(-k mod n)/n: dif leaves n times coefficient -k mod n there.
func (d *domain) fillShift(s fr.Element, logN int) {
	size := fr.NewElement(uint64(d.n))
	var first, step fr.Element
	first.Inverse(&size)
	d.order.Exp(s, big.NewInt(int64(d.n)))
	d.shift[0].Mul(&first, &d.order)
	// The inverse of s to the powers n/2, n/4 and so on are the factors for the bits of rev(k), from the lowest.
	factors := make([]fr.Element, logN)
	step.Inverse(&s)
	for i := logN - 1; i >= 0; i-- {
		factors[i] = step
		step.Square(&step)
	}
	for i := range factors {
		next := d.shift[1<<i : 2<<i]
		next.ScalarMul(d.shift[:1<<i], &factors[i])
	}
	d.shift[0] = first
}

// toCoset turns the values of a polynomial of degree below n on the domain into its values on the coset:
// v[i] is then the value at shift times the root to the power -i.
func (d *domain) toCoset(v fr.Vector) {
	d.dif(v)
	parallel.Do(d.n, splitSize, func(lo, hi int) {
		part := v[lo:hi]
		part.Mul(part, d.shift[lo:hi])
	})
	d.dit(v)
}

// fromCoset is the inverse of toCoset, but that it leaves coefficients, in their order, times a factor.
func (d *domain) fromCoset(v fr.Vector, factor *fr.Element) {
	d.dif(v) // place rev(k) has coefficient k times n s^k, s being the shift
	first := v[0]
	var rest fr.Element
	rest.Inverse(&d.order).Mul(&rest, factor) // shift[rev(k)] is s^(n-k)/n
	parallel.Do(d.n, splitSize, func(lo, hi int) {
		part := v[lo:hi]
		part.Mul(part, d.shift[lo:hi])
		part.ScalarMul(part, &rest)
	})
	v[0].Mul(&first, &d.shift[0]).Mul(&v[0], factor) // but for k = 0, where it is 1/n
	utils.BitReverse(v)
}

// inverseZ is the inverse of the value on the coset of Z, the polynomial that vanishes on the domain.
func (d *domain) inverseZ() (z fr.Element) {
	one := fr.One()
	z.Sub(&d.order, &one)
	return *z.Inverse(&z)
}

const (
	smallest  = 8       // halves of fewer elements are not worth a call for vectors
	splitSize = 1 << 13 // transforms of more elements are spread over the cores
	chunk     = 256     // elements of a butterfly's intermediates
)

// dif is the transform by decimation in frequency: natural order in, bit-reversed order out.
func (d *domain) dif(v fr.Vector) {
	half := len(v) / 2
	if half < smallest {
		d.difSmall(v)
		return
	}
	low, high, w := v[:half], v[half:], d.twiddles[half:2*half]
	if len(v) <= splitSize {
		difButterflies(low, high, w)
		d.dif(low)
		d.dif(high)
		return
	}
	parallel.Do(half, splitSize, func(lo, hi int) { difButterflies(low[lo:hi], high[lo:hi], w[lo:hi]) })
	parallel.Both(func() { d.dif(low) }, func() { d.dif(high) })
}

// dit is the transform by decimation in time: bit-reversed order in, natural order out.
func (d *domain) dit(v fr.Vector) {
	half := len(v) / 2
	if half < smallest {
		d.ditSmall(v)
		return
	}
	low, high, w := v[:half], v[half:], d.twiddles[half:2*half]
	if len(v) <= splitSize {
		d.dit(low)
		d.dit(high)
		ditButterflies(low, high, w)
		return
	}
	parallel.Both(func() { d.dit(low) }, func() { d.dit(high) })
	parallel.Do(half, splitSize, func(lo, hi int) { ditButterflies(low[lo:hi], high[lo:hi], w[lo:hi]) })
}

func difButterflies(low, high, w fr.Vector) {
	var memory [chunk]fr.Element
	for lo := 0; lo < len(low); lo += chunk {
		hi := min(lo+chunk, len(low))
		l, h, t := low[lo:hi], high[lo:hi], fr.Vector(memory[:hi-lo])
		t.Sub(l, h)
		l.Add(l, h)
		h.Mul(t, w[lo:hi])
	}
}

func ditButterflies(low, high, w fr.Vector) {
	var memory [chunk]fr.Element
	for lo := 0; lo < len(low); lo += chunk {
		hi := min(lo+chunk, len(low))
		l, h, t := low[lo:hi], high[lo:hi], fr.Vector(memory[:hi-lo])
		t.Mul(h, w[lo:hi])
		h.Sub(l, t)
		l.Add(l, t)
	}
}

func (d *domain) difSmall(v fr.Vector) {
	for half := len(v) / 2; half > 0; half /= 2 {
		for start := 0; start < len(v); start += 2 * half {
			for i := start; i < start+half; i++ {
				fr.Butterfly(&v[i], &v[i+half])
				if i > start {
					v[i+half].Mul(&v[i+half], &d.twiddles[half+i-start])
				}
			}
		}
	}
}

func (d *domain) ditSmall(v fr.Vector) {
	for half := 1; half < len(v); half *= 2 {
		for start := 0; start < len(v); start += 2 * half {
			for i := start; i < start+half; i++ {
				if i > start {
					v[i+half].Mul(&v[i+half], &d.twiddles[half+i-start])
				}
				fr.Butterfly(&v[i], &v[i+half])
			}
		}
	}
}

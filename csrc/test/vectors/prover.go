package main

import (
	"fmt"
	"math/big"
	"math/bits"
)

// domain is of transforms over the powers of a root of unity of order n: the one that zkeys use, 5^((r-1)/n), is another than that of
// gnark-crypto. transform turns n coefficients into their values on the latter's powers, bit-reversed, and returns its root.
type domain[T any, P residue[T]] struct {
	modulus   *big.Int
	transform func(n int, a []T) T
}

// root is 5^((r-1)/n).
func (d domain[T, P]) root(n int) T {
	e := new(big.Int).Sub(d.modulus, big.NewInt(1))
	five := P(new(T)).SetBigInt(big.NewInt(5))
	return *P(new(T)).Exp(*five, e.Div(e, big.NewInt(int64(n))))
}

// values are those of the polynomial at shift root^i.
func (d domain[T, P]) values(coefficients []T, shift T) []T {
	n := len(coefficients)
	a := make([]T, n)
	x := *d.one()
	for i := range a {
		P(&a[i]).Mul(&coefficients[i], &x)
		P(&x).Mul(&x, &shift)
	}
	theirs := d.transform(n, a)
	ours := d.root(n)
	step, power := 1, theirs // theirs^step is ours
	for !P(&power).Equal(&ours) {
		P(&power).Mul(&power, &theirs)
		step++
	}
	values := make([]T, n)
	for i := range values {
		values[i] = a[reversed(step*i%n, n)]
	}
	return values
}

// coefficients are those of the polynomial with these values.
func (d domain[T, P]) coefficients(values []T) []T {
	n := len(values)
	sums := d.values(values, *d.one())
	inverse := P(new(T)).SetBigInt(big.NewInt(int64(n)))
	P(inverse).Inverse(inverse)
	coefficients := make([]T, n)
	for i := range coefficients {
		P(&coefficients[i]).Mul(&sums[(n-i)%n], inverse)
	}
	return coefficients
}

func (d domain[T, P]) one() *T { return P(new(T)).SetBigInt(big.NewInt(1)) }

func reversed(i, n int) int {
	if n == 1 {
		return 0
	}
	return int(bits.Reverse(uint(i)) >> (bits.UintSize - bits.Len(uint(n-1))))
}

func scaled[T any, P residue[T]](all []T, factor int) []T {
	by := P(new(T)).SetBigInt(big.NewInt(int64(factor)))
	results := make([]T, len(all))
	for i := range all {
		P(&results[i]).Mul(&all[i], by)
	}
	return results
}

func randomElements[T any, P residue[T]](w *writer, modulus *big.Int, n int) []T {
	all := make([]T, n)
	for i := range all {
		P(&all[i]).SetBigInt(w.below(modulus))
	}
	return all
}

// transforms writes, of polynomials, the coefficients in bit-reversed order, the values on the domain and those on its coset, and n times
// the first and the last, which is what unscaled transforms make.
func transforms[T any, P residue[T]](w *writer, d domain[T, P]) {
	for _, size := range []struct{ log, vectors int }{
		{1, 1}, {2, 1}, {3, 1}, {4, 1}, {5, 3}, {6, 1}, {7, 1}, {8, 2}, {9, 1}, {10, 1}, {11, 2}, {12, 1}, {13, 1},
	} {
		n := 1 << size.log
		var shuffled, values, coset []T
		for range size.vectors {
			coefficients := randomElements[T, P](w, d.modulus, n)
			for i := range coefficients {
				shuffled = append(shuffled, coefficients[reversed(i, n)])
			}
			values = append(values, d.values(coefficients, *d.one())...)
			coset = append(coset, d.values(coefficients, d.root(2*n))...)
		}
		name := fmt.Sprintf("ntt %d ", size.log)
		w.put(name+"coefficients", shuffled)
		w.put(name+"values", values)
		w.put(name+"coset", coset)
		w.put(name+"coefficients scaled", scaled[T, P](shuffled, n))
		w.put(name+"coset scaled", scaled[T, P](coset, n))
	}
}

// quotients writes values a and b on a domain and, c having their products as its values, a b - c on the coset; and as powers the
// coefficients of (a b - c) / (x^n - 1), bit-reversed.
func quotients[T any, P residue[T]](w *writer, d domain[T, P]) {
	for _, size := range []struct{ log, vectors int }{{1, 1}, {4, 2}, {5, 3}, {8, 1}, {12, 1}} {
		n := 1 << size.log
		var as, bs []T
		var as2, bs2, hs, powers []*big.Int
		for range size.vectors {
			a, b, c := randomElements[T, P](w, d.modulus, n), randomElements[T, P](w, d.modulus, n), make([]T, n)
			for i := range c {
				P(&c[i]).Mul(&a[i], &b[i])
				as2 = append(as2, P(&a[i]).BigInt(new(big.Int)))
				bs2 = append(bs2, P(&b[i]).BigInt(new(big.Int)))
			}
			as, bs = append(as, a...), append(bs, b...)
			shift := d.root(2 * n)
			ac, bc, cc := d.values(d.coefficients(a), shift), d.values(d.coefficients(b), shift), d.values(d.coefficients(c), shift)
			divided := make([]T, n) // x^n is -1 on the coset
			divisor := P(new(T)).SetBigInt(big.NewInt(-2))
			P(divisor).Inverse(divisor)
			for i := range ac {
				h := P(new(T)).Mul(&ac[i], &bc[i])
				hs = append(hs, P(P(h).Sub(h, &cc[i])).BigInt(new(big.Int)))
				P(&divided[i]).Mul(h, divisor)
			}
			coefficients := d.coefficients(divided)
			back, power := *P(new(T)).Inverse(&shift), *d.one()
			for i := range coefficients {
				P(&coefficients[i]).Mul(&coefficients[i], &power)
				P(&power).Mul(&power, &back)
			}
			for i := range coefficients {
				powers = append(powers, P(&coefficients[reversed(i, n)]).BigInt(new(big.Int)))
			}
		}
		name := fmt.Sprintf("quotient %d ", size.log)
		w.put(name+"a", as)
		w.put(name+"b", bs)
		w.put(name+"a integers", integers(d.modulus, as2...))
		w.put(name+"b integers", integers(d.modulus, bs2...))
		w.put(name+"integers", integers(d.modulus, hs...))
		w.put(name+"powers integers", integers(d.modulus, powers...))
	}
}

// matrices writes sparse matrices, with rows of the lengths that make a difference, and products with witnesses.
func matrices[T any, P residue[T]](w *writer, edges []T) {
	const vars, coefficients, witnesses = 50, 6, 3
	modulus := modulusOf[T, P]()
	for k, lengths := range [][]int{
		{1, 0, 32, 33, 3, 0, 2000, 512, 513, 7, 0},
		{0, 40, 31, 32, 1025},
		{0, 0},
	} {
		starts, columns, values := []uint32{0}, []uint32{}, []uint32{}
		for _, n := range lengths {
			for range n {
				columns = append(columns, uint32(w.random.IntN(vars)))
				values = append(values, uint32(w.random.IntN(coefficients)))
			}
			starts = append(starts, uint32(len(columns)))
		}
		dictionary := randomElements[T, P](w, modulus, coefficients)
		P(&dictionary[0]).SetBigInt(big.NewInt(1))
		P(&dictionary[1]).SetBigInt(big.NewInt(-1))
		var plain, products []*big.Int
		for range witnesses {
			witness := randomElements[T, P](w, modulus, vars)
			for i := range witness {
				if i%3 == 0 {
					witness[i] = edges[w.random.IntN(len(edges))]
				}
				plain = append(plain, P(&witness[i]).BigInt(new(big.Int)))
			}
			for row := range lengths {
				var sum T
				for i := starts[row]; i < starts[row+1]; i++ {
					P(&sum).Add(&sum, P(new(T)).Mul(&dictionary[values[i]], &witness[columns[i]]))
				}
				products = append(products, P(&sum).BigInt(new(big.Int)))
			}
		}
		name := fmt.Sprintf("matrix %d ", k)
		w.put(name+"starts", starts)
		w.put(name+"columns", columns)
		w.put(name+"values", values)
		w.put(name+"dictionary", dictionary)
		w.put(name+"witnesses integers", integers(modulus, plain...))
		w.put(name+"integers", integers(modulus, products...))
	}
}

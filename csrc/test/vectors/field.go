package main

import "math/big"

// element is *T, of a T that is an element of a field.
type element[T any] interface {
	*T
	Add(x, y *T) *T
	Sub(x, y *T) *T
	Mul(x, y *T) *T
	Double(x *T) *T
	Neg(x *T) *T
	Square(x *T) *T
	Inverse(x *T) *T
}

// residue is *T, of a T that is an integer modulo a prime.
type residue[T any] interface {
	element[T]
	SetBigInt(n *big.Int) *T
	BigInt(n *big.Int) *big.Int
	Exp(x T, e *big.Int) *T
	Equal(x *T) bool
}

// prime writes what there is to compute with one number, with two and with four, and returns the numbers.
func prime[T any, P residue[T]](w *writer, name string, modulus *big.Int) []T {
	var all []T
	unit := radix[T, P](modulus)
	for _, words := range edges(modulus) {
		x := new(T)
		P(x).Mul(P(x).SetBigInt(words), unit) // whose words are those of the number
		all = append(all, *x)
	}
	for range 8 {
		all = append(all, *P(new(T)).SetBigInt(w.below(modulus)))
	}
	operations[T, P](w, name, all)

	var plain []*big.Int
	for i := range all {
		plain = append(plain, P(&all[i]).BigInt(new(big.Int)))
	}
	w.put(name+" integers", integers(modulus, plain...))
	dots[T, P](w, name, all)
	exponents[T, P](w, name, all)
	ranges(w, name, modulus)
	return all
}

// radix is 1/R: times it, n becomes the element whose words are those of n.
func radix[T any, P residue[T]](modulus *big.Int) *T {
	r := new(big.Int).Lsh(big.NewInt(1), uint(len(integers(modulus, new(big.Int)))*8))
	inverse := P(new(T)).SetBigInt(r)
	return P(new(T)).Inverse(inverse)
}

// edges are numbers below the modulus whose words make carries and borrows go far, or come from everywhere.
func edges(modulus *big.Int) []*big.Int {
	one := big.NewInt(1)
	bits := uint(len(integers(modulus, new(big.Int))) * 8)
	power := func(bits uint) *big.Int { return new(big.Int).Lsh(one, bits) }
	var all []*big.Int
	add := func(n *big.Int) {
		if n.Sign() >= 0 && n.Cmp(modulus) < 0 {
			all = append(all, n)
		}
	}
	less := func(n *big.Int) *big.Int { return new(big.Int).Sub(modulus, n) }
	half := new(big.Int).Rsh(modulus, 1)
	add(new(big.Int))
	add(one)
	add(less(one))
	add(less(big.NewInt(2)))
	add(half)
	add(new(big.Int).Add(half, one))
	add(new(big.Int).Mod(power(bits), modulus))
	add(less(new(big.Int).Mod(power(bits), modulus)))
	add(new(big.Int).Mod(power(2*bits), modulus))
	for at := uint(32); at < bits; at += 32 {
		ones := new(big.Int).Sub(power(at), one)
		add(ones)
		add(power(at))
		add(less(power(at)))
		add(less(ones))
	}
	top := new(big.Int).Rsh(modulus, bits-32) // the highest word
	for _, pattern := range []uint64{0xffffffff00000000, 0x00000000ffffffff, 0xffffffffffffffff, 0x80000000, 0x8000000000000001} {
		n := new(big.Int)
		for range bits / 64 {
			n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(pattern))
		}
		n.Mod(n, power(bits-32))
		add(n)
		add(new(big.Int).Add(n, new(big.Int).Lsh(new(big.Int).Sub(top, one), bits-32)))
	}
	return all
}

// operations writes the numbers, what becomes of each, and of each two: i n + j is that of numbers i and j.
func operations[T any, P element[T]](w *writer, name string, all []T) {
	each := func(what string, f func(P, *T) *T) {
		results := make([]T, len(all))
		for i := range all {
			f(P(&results[i]), &all[i])
		}
		w.put(name+" "+what, results)
	}
	two := func(what string, f func(P, *T, *T) *T) {
		results := make([]T, len(all)*len(all))
		for i := range results {
			f(P(&results[i]), &all[i/len(all)], &all[i%len(all)])
		}
		w.put(name+" "+what, results)
	}
	w.put(name, all)
	each("negatives", P.Neg)
	each("doubles", P.Double)
	each("squares", P.Square)
	each("inverses", P.Inverse)
	two("sums", P.Add)
	two("differences", P.Sub)
	two("products", P.Mul)
	combinations[T, P](w, name, all)
}

// combinations writes fours of numbers, and a b + c d of each.
func combinations[T any, P element[T]](w *writer, name string, all []T) {
	four, results := fours(w, all), []T(nil)
	for i := 0; i < len(four); i += 4 {
		var ab, cd T
		P(&ab).Mul(&four[i], &four[i+1])
		P(&cd).Mul(&four[i+2], &four[i+3])
		results = append(results, *P(&ab).Add(&ab, &cd))
	}
	w.put(name+" fours", four)
	w.put(name+" combinations", results)
}

// dots writes fours of numbers, and the sums of four of their products with the next four.
func dots[T any, P element[T]](w *writer, name string, all []T) {
	four, results := fours(w, all), []T(nil)
	for i := 0; i+4 < len(four); i += 4 {
		var sum T
		for k := range 4 {
			var term T
			P(&sum).Add(&sum, P(&term).Mul(&four[i+k], &four[i+4+k]))
		}
		results = append(results, sum)
	}
	w.put(name+" factors", four)
	w.put(name+" dots", results)
}

// fours picks numbers four at a time: four times the same first, which has the largest sums among them.
func fours[T any](w *writer, all []T) []T {
	var picked []T
	for i := range all {
		picked = append(picked, all[i], all[i], all[i], all[i])
	}
	for range 4 * 200 {
		picked = append(picked, all[w.random.IntN(len(all))])
	}
	return picked
}

func exponents[T any, P residue[T]](w *writer, name string, all []T) {
	var of []uint64
	var powers []T
	for i := range all {
		e := w.random.Uint64() >> w.random.IntN(64)
		of = append(of, e)
		powers = append(powers, *P(new(T)).Exp(all[i], new(big.Int).SetUint64(e)))
	}
	w.put(name+" exponents", of)
	w.put(name+" powers", powers)
}

// ranges writes integers of a field's words, and whether each is below the modulus.
func ranges(w *writer, name string, modulus *big.Int) {
	size := uint(len(integers(modulus, new(big.Int))) * 8)
	var numbers []*big.Int
	var below []byte
	add := func(n *big.Int) {
		if n.Sign() < 0 || n.BitLen() > int(size) {
			return
		}
		is := byte(0)
		if n.Cmp(modulus) < 0 {
			is = 1
		}
		numbers, below = append(numbers, n), append(below, is)
	}
	for at := uint(0); at < size; at += 16 {
		power := new(big.Int).Lsh(big.NewInt(1), at)
		add(new(big.Int).Sub(modulus, power))
		add(new(big.Int).Add(modulus, power))
		add(power)
	}
	add(modulus)
	add(new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), size), big.NewInt(1)))
	w.put(name+" ranges integers", integers(modulus, numbers...))
	w.put(name+" ranges", below)
}

// extension makes elements c0 + c1 u of elements of the base field.
func extension[T, E any](base []T, of func(a, b T) E) []E {
	var all []E
	for i := range 3 { // 0, 1 and -1
		for j := range 3 {
			all = append(all, of(base[i], base[j]))
		}
	}
	for i := range base {
		all = append(all, of(base[i], base[(7*i+3)%len(base)]))
	}
	return all
}

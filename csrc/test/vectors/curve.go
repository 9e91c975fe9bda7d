package main

import (
	"math/big"

	"github.com/consensys/gnark-crypto/ecc"
)

// point is *T, of a T that is a point in affine coordinates: its zero is the one at infinity.
type point[T any] interface {
	*T
	Add(a, b *T) *T
	Double(a *T) *T
	Neg(a *T) *T
	ScalarMultiplication(a *T, n *big.Int) *T
}

// points writes points, what becomes of each, and the sums of each two: i n + j is that of points i and j. Among them are the one at
// infinity, equal ones and opposite ones. It returns other points, all distinct, the generator first.
func points[T any, P point[T]](w *writer, name string, generator T) []T {
	many := []T{generator}
	for range 255 {
		next := many[len(many)-1] // 3 P + G
		P(&next).Add(P(new(T)).Double(&next), &next)
		P(&next).Add(&next, &generator)
		many = append(many, next)
	}
	var all []T
	all = append(all, *new(T), generator, *P(new(T)).Neg(&generator), *P(new(T)).Double(&generator))
	for _, p := range many[200:204] {
		all = append(all, p, *P(new(T)).Neg(&p), *P(new(T)).Double(&p))
	}
	doubles, sums := make([]T, len(all)), make([]T, len(all)*len(all))
	for i := range all {
		P(&doubles[i]).Double(&all[i])
	}
	for i := range sums {
		P(&sums[i]).Add(&all[i/len(all)], &all[i%len(all)])
	}
	w.put(name, all)
	w.put(name+" doubles", doubles)
	w.put(name+" sums", sums)
	return many
}

// multiples writes integers and the multiples of the generator by them.
func multiples[T, S any, P point[T], Q residue[S]](w *writer, name string, generator T) {
	modulus := modulusOf[S, Q]()
	numbers := edges(modulus)
	for len(numbers) < 70 {
		numbers = append(numbers, w.below(modulus))
	}
	results := make([]T, len(numbers))
	for i, n := range numbers {
		P(&results[i]).ScalarMultiplication(&generator, n)
	}
	w.put(name+" multiples integers", integers(modulus, numbers...))
	w.put(name+" multiples", results)
}

// group is *T, of a T that is a point which scalars S multiply.
type group[T, S any] interface {
	point[T]
	MultiExp(points []T, scalars []S, config ecc.MultiExpConfig) (*T, error)
}

// kind is what scalars are like.
type kind int

const (
	mixed   kind = iota // all there is, with 0, 1 and r - 1 often
	zeros               // 0
	ones                // 1
	equal               // one random number
	sparse              // seven of eight 0 or 1
	largest             // r - 1
)

// sum is a sum of products to make: n points, vectors scalars to each, windows of bits bits (0: as many as the kernels choose) and
// at most tables tables of multiples.
type sum struct {
	name                     string
	n, vectors, bits, tables int
	kind                     kind
	montgomery               bool // scalars are elements, not integers
}

// many are the sums of the group that is computed fastest, few those of the others.
var (
	many = []sum{
		{"nothing", 0, 1, 4, 1, mixed, false},
		{"one point", 1, 1, 5, 1, mixed, false},
		{"mixed", 77, 1, 5, 3, mixed, false},
		{"zeros", 77, 1, 5, 3, zeros, false},
		{"ones", 77, 1, 5, 3, ones, false},
		{"equal", 77, 1, 5, 3, equal, true},
		{"sparse", 77, 1, 5, 3, sparse, false},
		{"largest", 77, 1, 5, 3, largest, true},
		{"wide windows, all tables", 20, 1, 8, 100, mixed, false},
		{"narrow windows", 33, 1, 2, 4, mixed, true},
		{"no tables, two vectors", 50, 2, 4, 1, sparse, false},
		{"seven vectors", 20, 7, 4, 4, mixed, false},
		{"chosen windows", 40, 1, 0, 100, mixed, false},
		{"hot bucket", 256, 1, 4, 1, ones, false},
		{"power of two", 64, 1, 6, 4, mixed, false},
	}
	few = []sum{
		{"nothing", 0, 1, 4, 1, mixed, false},
		{"one point", 1, 1, 4, 4, mixed, false},
		{"mixed", 37, 1, 4, 8, mixed, false},
		{"zeros", 37, 1, 4, 8, zeros, false},
		{"ones", 37, 1, 4, 8, ones, false},
		{"equal", 21, 1, 4, 8, equal, true},
		{"sparse", 37, 1, 4, 8, sparse, false},
		{"largest", 21, 1, 4, 8, largest, true},
		{"two vectors", 9, 2, 4, 8, mixed, false},
		{"seven vectors", 9, 7, 4, 8, mixed, false},
		{"hot bucket", 200, 1, 3, 1, ones, false},
	}
)

// sums writes the sums of some points: in the list of points are infinity, equal ones and opposite ones again and again.
func sums[T, S any, P group[T, S], Q residue[S]](w *writer, name string, distinct []T, all []sum) {
	from := make([]T, len(distinct))
	for i := range from {
		switch {
		case i%7 == 3: // infinity
		case i%5 == 1:
			from[i] = distinct[0]
		case i%5 == 2:
			P(&from[i]).Neg(&distinct[0])
		default:
			from[i] = distinct[i]
		}
	}
	w.put(name+" points", from)
	var names []byte
	for _, s := range all {
		what := name + " " + s.name
		scalars := scalarsOf[S, Q](w, s)
		var results []T
		for v := range s.vectors {
			var result T
			if s.n > 0 {
				if _, err := P(&result).MultiExp(from[:s.n], scalars[v*s.n:(v+1)*s.n], ecc.MultiExpConfig{}); w.err == nil {
					w.err = err
				}
			}
			results = append(results, result)
		}
		form := uint32(0)
		if s.montgomery {
			form = 1
			w.put(what+" scalars", scalars)
		} else {
			var plain []*big.Int
			for i := range scalars {
				plain = append(plain, Q(&scalars[i]).BigInt(new(big.Int)))
			}
			w.put(what+" scalars", integers(modulusOf[S, Q](), plain...))
		}
		w.put(what, results)
		w.put(what+" shape", []uint32{uint32(s.n), uint32(s.vectors), uint32(s.bits), uint32(s.tables), form})
		names = append(append(names, s.name...), 0)
	}
	w.put(name+" cases", names)
}

func scalarsOf[S any, Q residue[S]](w *writer, s sum) []S {
	modulus := modulusOf[S, Q]()
	random := func() *big.Int { return w.below(modulus) }
	minusOne := new(big.Int).Sub(modulus, big.NewInt(1))
	same := random()
	number := func(i int) *big.Int {
		switch s.kind {
		case zeros:
			return new(big.Int)
		case ones:
			return big.NewInt(1)
		case equal:
			return same
		case largest:
			return minusOne
		case sparse:
			if w.random.IntN(8) > 0 {
				return big.NewInt(w.random.Int64N(2))
			}
		default:
			switch i % 11 {
			case 0:
				return minusOne
			case 1:
				return big.NewInt(1)
			case 2:
				return new(big.Int)
			}
		}
		return random()
	}
	scalars := make([]S, s.n*s.vectors)
	for i := range scalars {
		Q(&scalars[i]).SetBigInt(number(i))
	}
	return scalars
}

// modulusOf is one more than the largest element.
func modulusOf[S any, Q residue[S]]() *big.Int {
	minusOne := new(S)
	Q(minusOne).SetBigInt(big.NewInt(-1))
	n := Q(minusOne).BigInt(new(big.Int))
	return n.Add(n, big.NewInt(1))
}

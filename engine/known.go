package engine

import (
	"encoding/binary"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16"
)

// A known is a circuit whose witness is right for certain: a device that can't prove it is at fault.
// It is a chain of squares: x, x^2, x^4, ..., the last of which is public.
type known struct {
	key       *groth16.ProvingKey
	verifying *groth16.VerifyingKey
	witness   []byte
	public    groth16.Public
}

// The chain has knownSquares constraints. Rows for the constant wire and the public one follow, as in every zkey:
// they fill a domain of 64 but for one row.
const (
	knownSquares = 61
	knownRows    = knownSquares + 2
	knownDomain  = 64
	knownVars    = knownSquares + 2 // 1, the last square, x and the squares between
)

// knownWires returns the wires of constraint i: a * a = c.
func knownWires(i int) (a, c int) {
	if i == knownSquares-1 {
		return i + 2, 1
	}
	return i + 2, i + 3
}

// newKnown makes the circuit's keys from secrets that everybody knows: its proofs prove nothing, and only show that a device works.
// The construction is that of Groth16 (eprint 2016/260, section 3.2) with the basis for h that snarkjs uses.
func newKnown(curve groth16.Curve) (*known, error) {
	f := field{curve.ScalarModulus()}
	tau, alpha, beta, gamma, delta := big.NewInt(1009), big.NewInt(2003), big.NewInt(3001), big.NewInt(4001), big.NewInt(5003)

	rows := f.lagrange(knownDomain, tau)
	a, b, c := zeros(knownVars), zeros(knownVars), zeros(knownVars)
	for i := range knownSquares {
		in, out := knownWires(i)
		a[in], b[in], c[out] = f.add(a[in], rows[i]), f.add(b[in], rows[i]), f.add(c[out], rows[i])
	}
	for wire := range 2 {
		a[wire] = f.add(a[wire], rows[knownSquares+wire])
	}
	sums := make([]*big.Int, knownVars) // beta a + alpha b + c, over gamma for public wires and over delta for the others
	for i := range sums {
		sum := f.add(f.add(f.mul(beta, a[i]), f.mul(alpha, b[i])), c[i])
		if i < 2 {
			sums[i] = f.div(sum, gamma)
		} else {
			sums[i] = f.div(sum, delta)
		}
	}
	h := make([]*big.Int, knownDomain)
	for i, l := range f.lagrange(2*knownDomain, tau) {
		if i%2 == 1 {
			h[i/2] = f.div(l, delta)
		}
	}

	single := []*big.Int{alpha, beta, delta, gamma}
	single1, single2 := multiples1(curve, single), multiples2(curve, single)
	g1 := func(i int) []byte { return single1[i*curve.G1Size():][:curve.G1Size()] }
	g2 := func(i int) []byte { return single2[i*curve.G2Size():][:curve.G2Size()] }
	section := func(data []byte) groth16.Section { return groth16.NewSection(data, nil) }
	matrixA, matrixB, coefficients := knownMatrices(f)

	verifying, err := groth16.NewVerifyingKey(curve, g1(0), g2(1), g2(3), g2(2), multiples1(curve, sums[:2]))
	if err != nil {
		return nil, err
	}
	witness := knownWitness(f)
	return &known{
		key: &groth16.ProvingKey{
			Curve: curve, Vars: knownVars, Public: 1, Domain: knownDomain, Rows: knownRows, Entries: 2*knownSquares + 2,
			Alpha1: g1(0), Beta1: g1(1), Delta1: g1(2), Beta2: g2(1), Delta2: g2(2),
			PointsA:  section(multiples1(curve, a)),
			PointsB1: section(multiples1(curve, b)),
			PointsB2: section(multiples2(curve, b)),
			PointsC:  section(multiples1(curve, sums[2:])),
			PointsH:  section(multiples1(curve, h)),
			A:        matrixA, B: matrixB, Coefficients: section(coefficients),
		},
		verifying: verifying,
		witness:   witness,
		public:    groth16.PublicFromWitness(witness, 1),
	}, nil
}

// knownMatrices returns A and B, whose entries are all one, and the coefficients 1 and -1.
func knownMatrices(f field) (a, b groth16.Matrix, coefficients []byte) {
	var columnsA, columnsB, startsA, startsB []byte
	u32 := binary.LittleEndian.AppendUint32
	for i := range knownSquares {
		in, _ := knownWires(i)
		startsA, startsB = u32(startsA, uint32(i)), u32(startsB, uint32(i))
		columnsA, columnsB = u32(columnsA, uint32(in)), u32(columnsB, uint32(in))
	}
	for wire := range 2 {
		startsA, startsB = u32(startsA, uint32(knownSquares+wire)), u32(startsB, knownSquares)
		columnsA = u32(columnsA, uint32(wire))
	}
	startsA, startsB = u32(startsA, knownRows), u32(startsB, knownSquares)

	matrix := func(starts, columns []byte) groth16.Matrix {
		return groth16.Matrix{
			Starts:  groth16.NewSection(starts, nil),
			Columns: groth16.NewSection(columns, nil),
			Values:  groth16.NewSection(make([]byte, len(columns)), nil),
		}
	}
	one := f.mul(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), 256)) // in Montgomery form
	coefficients = append(littleEndian(one), littleEndian(f.sub(big.NewInt(0), one))...)
	return matrix(startsA, columnsA), matrix(startsB, columnsB), coefficients
}

func knownWitness(f field) []byte {
	words := make([]byte, knownVars*groth16.ScalarSize)
	put := func(wire int, v *big.Int) { copy(words[wire*groth16.ScalarSize:], littleEndian(v)) }
	put(0, big.NewInt(1))
	x := big.NewInt(3)
	put(2, x)
	for i := range knownSquares {
		_, out := knownWires(i)
		x = f.mul(x, x)
		put(out, x)
	}
	return words
}

// A field is the scalar field of order r; its few slow operations are all that making a key takes.
type field struct{ r *big.Int }

func (f field) add(a, b *big.Int) *big.Int { return f.mod(new(big.Int).Add(a, b)) }
func (f field) sub(a, b *big.Int) *big.Int { return f.mod(new(big.Int).Sub(a, b)) }
func (f field) mul(a, b *big.Int) *big.Int { return f.mod(new(big.Int).Mul(a, b)) }
func (f field) div(a, b *big.Int) *big.Int { return f.mul(a, new(big.Int).ModInverse(b, f.r)) }
func (f field) mod(a *big.Int) *big.Int    { return a.Mod(a, f.r) }

// lagrange evaluates the n Lagrange polynomials over the n-th roots of unity at tau: (tau^n-1)/n * w^i/(tau-w^i).
// The roots are powers of 5^((r-1)/n), on both curves: those of snarkjs.
func (f field) lagrange(n int64, tau *big.Int) []*big.Int {
	order := new(big.Int).Div(f.sub(big.NewInt(0), big.NewInt(1)), big.NewInt(n))
	root := new(big.Int).Exp(big.NewInt(5), order, f.r)
	vanishing := f.sub(new(big.Int).Exp(tau, big.NewInt(n), f.r), big.NewInt(1))
	scale := f.div(vanishing, big.NewInt(n))

	values := make([]*big.Int, n)
	power := big.NewInt(1)
	for i := range values {
		values[i] = f.mul(scale, f.div(power, f.sub(tau, power)))
		power = f.mul(power, root)
	}
	return values
}

func zeros(n int) []*big.Int {
	values := make([]*big.Int, n)
	for i := range values {
		values[i] = new(big.Int)
	}
	return values
}

// littleEndian returns v as a word of 32 bytes.
func littleEndian(v *big.Int) []byte {
	word := v.FillBytes(make([]byte, groth16.ScalarSize))
	for i, j := 0, len(word)-1; i < j; i, j = i+1, j-1 {
		word[i], word[j] = word[j], word[i]
	}
	return word
}

// multiples1 returns the scalars' multiples of the generator of G1, as a key holds points.
func multiples1(curve groth16.Curve, scalars []*big.Int) []byte {
	var limbs []uint64
	switch curve {
	case groth16.BN254:
		_, _, g, _ := bn254.Generators()
		for _, p := range bn254.BatchScalarMultiplicationG1(&g, bnScalars(scalars)) {
			limbs = append(append(limbs, p.X[:]...), p.Y[:]...)
		}
	case groth16.BLS12381:
		_, _, g, _ := bls12381.Generators()
		for _, p := range bls12381.BatchScalarMultiplicationG1(&g, blsScalars(scalars)) {
			limbs = append(append(limbs, p.X[:]...), p.Y[:]...)
		}
	}
	return limbBytes(limbs)
}

// multiples2 returns the scalars' multiples of the generator of G2, as a key holds points.
func multiples2(curve groth16.Curve, scalars []*big.Int) []byte {
	var limbs []uint64
	switch curve {
	case groth16.BN254:
		_, _, _, g := bn254.Generators()
		for _, p := range bn254.BatchScalarMultiplicationG2(&g, bnScalars(scalars)) {
			limbs = append(append(append(append(limbs, p.X.A0[:]...), p.X.A1[:]...), p.Y.A0[:]...), p.Y.A1[:]...)
		}
	case groth16.BLS12381:
		_, _, _, g := bls12381.Generators()
		for _, p := range bls12381.BatchScalarMultiplicationG2(&g, blsScalars(scalars)) {
			limbs = append(append(append(append(limbs, p.X.A0[:]...), p.X.A1[:]...), p.Y.A0[:]...), p.Y.A1[:]...)
		}
	}
	return limbBytes(limbs)
}

func bnScalars(values []*big.Int) []bnfr.Element {
	scalars := make([]bnfr.Element, len(values))
	for i, v := range values {
		scalars[i].SetBigInt(v)
	}
	return scalars
}

func blsScalars(values []*big.Int) []blsfr.Element {
	scalars := make([]blsfr.Element, len(values))
	for i, v := range values {
		scalars[i].SetBigInt(v)
	}
	return scalars
}

func limbBytes(limbs []uint64) []byte {
	data := make([]byte, 0, 8*len(limbs))
	for _, limb := range limbs {
		data = binary.LittleEndian.AppendUint64(data, limb)
	}
	return data
}

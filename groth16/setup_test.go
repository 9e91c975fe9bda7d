package groth16

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	bls "github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsfr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	bn "github.com/consensys/gnark-crypto/ecc/bn254"
	bnfr "github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// statement is a random circuit with a witness that satisfies it, and its keys.
type statement struct {
	pk      *ProvingKey
	vk      *VerifyingKey
	witness []byte
}

func (s *statement) public() Public { return PublicFromWitness(s.witness, s.pk.Public) }

// shape says what circuit and witness to make.
type shape struct {
	curve       Curve
	public      int
	private     int // wires with values from value
	products    int // wires that are products of others
	value       func(r *rand.Rand, i int) int64
	forgeable   bool
	unsatisfied bool
	quotient    Quotient
}

// maker makes the keys of a statement from secrets that a real setup throws away.
type maker struct {
	shape
	t       testing.TB
	rand    *rand.Rand
	r       *big.Int
	witness []*big.Int
	a, b, c []map[int]*big.Int // rows of the matrices
}

func newStatement(t testing.TB, seed uint64, s shape) *statement {
	t.Helper()
	m := &maker{shape: s, t: t, rand: rand.New(rand.NewPCG(seed, 0)), r: s.curve.ScalarModulus()}
	m.fill()
	return m.keys()
}

func (m *maker) field() *big.Int {
	n := new(big.Int)
	for range 5 {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(m.rand.Uint64()))
	}
	return n.Mod(n, m.r)
}

// coefficient is often 1 or -1, as in real circuits.
func (m *maker) coefficient() *big.Int {
	switch m.rand.IntN(4) {
	case 0, 1:
		return big.NewInt(1)
	case 2:
		return new(big.Int).Sub(m.r, big.NewInt(1))
	}
	return m.field()
}

func (m *maker) row(terms int) map[int]*big.Int {
	row := map[int]*big.Int{}
	for range terms {
		row[m.rand.IntN(len(m.witness))] = m.coefficient()
	}
	return row
}

func (m *maker) dot(row map[int]*big.Int) *big.Int {
	sum := new(big.Int)
	for wire, c := range row {
		sum.Add(sum, new(big.Int).Mul(c, m.witness[wire]))
	}
	return sum.Mod(sum, m.r)
}

// fill makes a constraint for each wire: a private or public one is taken times a constant, the others are products.
func (m *maker) fill() {
	m.witness = []*big.Int{big.NewInt(1)}
	for i := range m.public + m.private {
		v := m.field()
		if m.value != nil {
			v = new(big.Int).Mod(big.NewInt(m.value(m.rand, i)), m.r)
		}
		m.witness = append(m.witness, v)
		k := m.coefficient()
		m.a = append(m.a, map[int]*big.Int{i + 1: big.NewInt(1)})
		m.b = append(m.b, map[int]*big.Int{0: k})
		m.c = append(m.c, map[int]*big.Int{i + 1: k})
	}
	for range m.products {
		a, b := m.row(3), m.row(2)
		product := new(big.Int).Mul(m.dot(a), m.dot(b))
		m.a, m.b = append(m.a, a), append(m.b, b)
		m.c = append(m.c, map[int]*big.Int{len(m.witness): big.NewInt(1)})
		m.witness = append(m.witness, product.Mod(product, m.r))
	}
	if m.unsatisfied {
		last := m.witness[len(m.witness)-1]
		last.Add(last, big.NewInt(1)).Mod(last, m.r)
	}
	for s := range m.public + 1 { // input consistency
		m.a = append(m.a, map[int]*big.Int{s: big.NewInt(1)})
	}
}

func (m *maker) root(order int) *big.Int {
	e := new(big.Int).Sub(m.r, big.NewInt(1))
	return e.Exp(big.NewInt(5), e.Div(e, big.NewInt(int64(order))), m.r)
}

func (m *maker) mul(x, y *big.Int) *big.Int { x = new(big.Int).Mul(x, y); return x.Mod(x, m.r) }
func (m *maker) inv(x *big.Int) *big.Int    { return new(big.Int).ModInverse(x, m.r) }

// lagrange is the value at tau of the polynomial that is 1 at x and 0 at the other roots of unity of the order.
func (m *maker) lagrange(order int, x, tau *big.Int) *big.Int {
	n := big.NewInt(int64(order))
	z := new(big.Int).Exp(tau, n, m.r)
	z.Sub(z, big.NewInt(1))
	d := new(big.Int).Sub(tau, x)
	d.Mul(d, n).Mod(d, m.r)
	return m.mul(m.mul(z, x), m.inv(d))
}

// column is, for each wire, the value at tau of its polynomial.
func (m *maker) column(rows []map[int]*big.Int, basis []*big.Int) []*big.Int {
	values := make([]*big.Int, len(m.witness))
	for wire := range values {
		values[wire] = new(big.Int)
	}
	for i, row := range rows {
		for wire, c := range row {
			values[wire].Add(values[wire], m.mul(c, basis[i])).Mod(values[wire], m.r)
		}
	}
	return values
}

func (m *maker) keys() *statement {
	n := 1
	for n < len(m.a) {
		n *= 2
	}
	alpha, beta, gamma, delta, tau := m.field(), m.field(), m.field(), m.field(), m.field()
	if m.forgeable {
		gamma, delta = big.NewInt(1), big.NewInt(1)
	}
	basis, h := make([]*big.Int, n), make([]*big.Int, n)
	root, twice := m.root(n), m.root(2*n)
	vanishing := new(big.Int).Exp(tau, big.NewInt(int64(n)), m.r)
	vanishing.Sub(vanishing, big.NewInt(1))
	for i := range n {
		basis[i] = m.lagrange(n, new(big.Int).Exp(root, big.NewInt(int64(i)), m.r), tau)
		odd := new(big.Int).Exp(twice, big.NewInt(int64(2*i+1)), m.r)
		h[i] = m.mul(m.lagrange(2*n, odd, tau), m.inv(delta))
		if m.quotient == Powers {
			h[i] = m.mul(m.mul(new(big.Int).Exp(tau, big.NewInt(int64(i)), m.r), vanishing), m.inv(delta))
		}
	}
	if m.quotient == Powers {
		h[n-1] = new(big.Int)
	}
	u, v, w := m.column(m.a, basis), m.column(m.b, basis), m.column(m.c, basis)
	k := make([]*big.Int, len(u))
	for i := range k {
		k[i] = m.mul(beta, u[i])
		k[i].Add(k[i], m.mul(alpha, v[i])).Add(k[i], w[i])
		if i <= m.public {
			k[i] = m.mul(k[i], m.inv(gamma))
		} else {
			k[i] = m.mul(k[i], m.inv(delta))
		}
	}
	g1 := func(scalars ...*big.Int) []byte { return multiplesG1(m.curve, scalars) }
	g2 := func(scalars ...*big.Int) []byte { return multiplesG2(m.curve, scalars) }
	pk := &ProvingKey{
		Curve: m.curve, Vars: len(m.witness), Public: m.public, Domain: n, Rows: len(m.a),
		Alpha1: g1(alpha), Beta1: g1(beta), Delta1: g1(delta), Beta2: g2(beta), Delta2: g2(delta),
		PointsA: section(g1(u...)), PointsB1: section(g1(v...)), PointsB2: section(g2(v...)),
		PointsC: section(g1(k[m.public+1:]...)), PointsH: section(g1(h...)), Quotient: m.quotient,
	}
	m.matrices(pk)
	vk, err := NewVerifyingKey(m.curve, pk.Alpha1, pk.Beta2, g2(gamma), pk.Delta2, g1(k[:m.public+1]...))
	if err != nil {
		m.t.Fatal(err)
	}
	return &statement{pk: pk, vk: vk, witness: m.words()}
}

func (m *maker) words() (witness []byte) {
	for _, value := range m.witness {
		witness = append(witness, littleEndian(value)...)
	}
	return witness
}

func (m *maker) matrices(pk *ProvingKey) {
	one := new(big.Int).Mod(new(big.Int).Lsh(big.NewInt(1), 256), m.r)
	coefficients := slices.Concat(littleEndian(one), littleEndian(new(big.Int).Sub(m.r, one)))
	index := map[string]uint32{"1": 0, new(big.Int).Sub(m.r, big.NewInt(1)).String(): 1}
	for i, rows := range [][]map[int]*big.Int{m.a, m.b} {
		var starts, columns, values []byte
		entries := uint32(0)
		for row := range pk.Rows {
			starts = binary.LittleEndian.AppendUint32(starts, entries)
			if row >= len(rows) {
				continue
			}
			for wire, c := range rows[row] {
				k, ok := index[c.String()]
				if !ok {
					k = uint32(len(index))
					index[c.String()] = k
					coefficients = append(coefficients, littleEndian(m.mul(c, one))...)
				}
				columns = binary.LittleEndian.AppendUint32(columns, uint32(wire))
				values = binary.LittleEndian.AppendUint32(values, k)
				entries++
			}
		}
		starts = binary.LittleEndian.AppendUint32(starts, entries)
		*[]*Matrix{&pk.A, &pk.B}[i] = Matrix{Starts: section(starts), Columns: section(columns), Values: section(values)}
		pk.Entries += int(entries)
	}
	pk.Coefficients = section(coefficients)
}

func section(b []byte) Section { return NewSection(b, nil) }

func littleEndian(n *big.Int) []byte {
	b := n.FillBytes(make([]byte, ScalarSize))
	slices.Reverse(b)
	return b
}

// multiplesG1 are multiples of the generator, as a zkey has them.
func multiplesG1(c Curve, scalars []*big.Int) []byte {
	if len(scalars) == 0 {
		return nil
	}
	if c == BN254 {
		_, _, g, _ := bn.Generators()
		return memory(bn.BatchScalarMultiplicationG1(&g, elementsOf[bnfr.Element](scalars)))
	}
	_, _, g, _ := bls.Generators()
	return memory(bls.BatchScalarMultiplicationG1(&g, elementsOf[blsfr.Element](scalars)))
}

func multiplesG2(c Curve, scalars []*big.Int) []byte {
	if len(scalars) == 0 {
		return nil
	}
	if c == BN254 {
		_, _, _, g := bn.Generators()
		return memory(bn.BatchScalarMultiplicationG2(&g, elementsOf[bnfr.Element](scalars)))
	}
	_, _, _, g := bls.Generators()
	return memory(bls.BatchScalarMultiplicationG2(&g, elementsOf[blsfr.Element](scalars)))
}

func elementsOf[E any, P interface {
	*E
	SetBigInt(*big.Int) P
}](scalars []*big.Int) []E {
	elements := make([]E, len(scalars))
	for i, s := range scalars {
		P(&elements[i]).SetBigInt(s)
	}
	return elements
}

func memory[T any](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(&v[0])), len(v)*int(unsafe.Sizeof(t)))
}

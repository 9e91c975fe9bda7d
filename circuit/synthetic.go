package circuit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/pinion-zk/pinion/groth16"
)

// Synthetic is a circuit made up for measurements and tests at size, with a witness that satisfies it. The same values make the same
// circuit and witness, whatever the number of cores.
//
// There are as many wires as rows. A constraint has 2.5 terms in A and 1.25 in B on average, one in 16 far more, and two in C. Of the
// terms' wires three in four are near by, one in 32 is the constant one, and the others are anywhere; half of the coefficients are 1, a
// quarter -1, and the others one of 62. As in real circuits, B leaves out about half of the wires, whose points are the infinity
// there; A has all but the last.
type Synthetic struct {
	Curve  groth16.Curve
	Rows   int // constraints, and one for each public wire and the constant one: 2^k rows fill a domain of 2^k
	Public int
	// Zeros and Ones are the shares of wires whose value is 0 and 1. The others are uniform below r.
	Zeros, Ones float64
	Seed        uint64
}

// Make makes the constraints and the witness: a value for each wire, 32 bytes, canonical, little-endian. It uses all cores, and no memory
// but for what it returns: 32 bytes for each wire twice, and 58 for each constraint's rows.
func (s Synthetic) Make(ctx context.Context) (*groth16.Constraints, []byte, error) {
	if err := s.check(); err != nil {
		return nil, nil, fmt.Errorf("synthetic circuit: %w", err)
	}
	m := newSynthesis(s)
	if err := m.blocks(ctx, s.Rows, m.fillWitness); err != nil {
		return nil, nil, err
	}
	if err := m.blocks(ctx, m.constraints, m.fillRows); err != nil {
		return nil, nil, err
	}
	m.bindPublic()
	return m.result(), m.witness, nil
}

func (s Synthetic) check() error {
	switch {
	case s.Curve != groth16.BN254 && s.Curve != groth16.BLS12381:
		return fmt.Errorf("%v, expected bn128 or bls12381", s.Curve)
	case s.Public < 0 || s.Rows < s.Public+2 || s.Rows > maxDomain:
		return fmt.Errorf("%d rows with %d public wires, expected at least two more than these, and at most %d", s.Rows, s.Public, maxDomain)
	case !(s.Zeros >= 0 && s.Ones >= 0 && s.Zeros+s.Ones <= 1):
		return fmt.Errorf("shares of %v zeros and %v ones, expected two from 0 to 1 that are at most 1 together", s.Zeros, s.Ones)
	}
	return nil
}

// synthesis is a synthetic circuit in the making.
type synthesis struct {
	Synthetic
	constraints int
	f           field
	square      element // R squared
	witness     []byte
	a, b, c     csr
	dictionary  []element // Montgomery: 1, -1 and others
	solved      []byte    // coefficients of C, Montgomery: the dictionary, and one for each constraint
}

// pattern has the numbers of terms of 16 constraints, and so of all.
type pattern [16]int

var (
	termsOfA = pattern{1, 2, 1, 3, 2, 1, 2, 1, 4, 1, 2, 1, 2, 1, 2, 14}
	termsOfB = pattern{1, 1, 1, 1, 1, 1, 1, 5, 1, 1, 1, 1, 1, 1, 1, 1}
)

const termsOfC = 2

// before is the number of terms of the constraints before constraint i.
func (p *pattern) before(i int) (terms int) {
	for place, n := range p {
		terms += n * ((i + len(p) - 1 - place) / len(p))
	}
	return terms
}

// dictionarySize is how many distinct coefficients A and B have.
const dictionarySize = 64

func newSynthesis(s Synthetic) *synthesis {
	m := &synthesis{Synthetic: s, constraints: s.Rows - s.Public - 1, f: fieldOf(s.Curve)}
	m.square = m.f.power(2)
	m.witness = make([]byte, s.Rows*groth16.ScalarSize)
	m.a = newRows(s.Rows, termsOfA.before(m.constraints)+s.Public+1)
	m.b = newRows(s.Rows, termsOfB.before(m.constraints))
	m.c = newRows(s.Rows, termsOfC*m.constraints)
	m.solved = make([]byte, (dictionarySize+m.constraints)*groth16.ScalarSize)
	m.fillDictionary()
	return m
}

func newRows(rows, entries int) csr {
	return csr{make([]byte, 4*(rows+1)), make([]byte, 4*entries), make([]byte, 4*entries)}
}

func (m *synthesis) fillDictionary() {
	d := &draws{m: m}
	d.PCG.Seed(m.Seed, dictionaryStream)
	m.dictionary = make([]element, dictionarySize)
	m.dictionary[0] = m.f.power(1)
	m.dictionary[1] = m.f.negative(&m.dictionary[0])
	for i := range m.dictionary {
		if i >= 2 {
			m.dictionary[i] = d.full()
		}
		putElement(m.solved[i*groth16.ScalarSize:], &m.dictionary[i])
	}
}

func (m *synthesis) result() *groth16.Constraints {
	return &groth16.Constraints{
		Curve: m.Curve, Vars: m.Rows, Public: m.Public, Rows: m.Rows,
		A: m.a.matrix(), B: m.b.matrix(), C: m.c.matrix(),
		Coefficients:  groth16.NewSection(m.solved[:dictionarySize*groth16.ScalarSize], nil),
		CoefficientsC: groth16.NewSection(m.solved, nil),
	}
}

// blockRows are made from one stream of random numbers.
const blockRows = 1 << 12

// blocks calls fill for the numbers up to n, a block at a time, on all cores.
func (m *synthesis) blocks(ctx context.Context, n int, fill func(lo, hi int)) error {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < n && ctx.Err() == nil; lo += blockRows {
		g.Go(func() error {
			fill(lo, min(lo+blockRows, n))
			return nil
		})
	}
	return errors.Join(g.Wait(), ctx.Err())
}

func (m *synthesis) fillWitness(lo, hi int) {
	d := m.draws(witnessStream, lo)
	for wire := lo; wire < hi; wire++ {
		value := d.value()
		if wire == 0 {
			value = element{1}
		}
		putElement(m.witness[wire*groth16.ScalarSize:], &value)
	}
}

func (m *synthesis) value(wire uint32) element {
	return elementOf(m.witness[int(wire)*groth16.ScalarSize:])
}

// fillRows makes constraints. The second coefficient of C is what makes each true.
func (m *synthesis) fillRows(lo, hi int) {
	d := m.draws(rowStream, lo)
	a, b, c := rowWriter{m.a, termsOfA.before(lo)}, rowWriter{m.b, termsOfB.before(lo)}, rowWriter{m.c, termsOfC * lo}
	quotients := make([]quotient, hi-lo)
	var left, right, rest element // here, not in the loop: the field's functions have them on the heap
	for i := lo; i < hi; i++ {
		own := uint32(m.Public + 1 + i)
		left, right, rest = element{}, element{}, element{}
		a.begin(i)
		for k := range termsOfA[i%len(termsOfA)] {
			wire, value := own-1, d.coefficient()
			if k > 0 {
				wire = d.wire(own, k)
			}
			a.add(wire, value)
			d.accumulate(&left, wire, value)
		}
		b.begin(i)
		for k := range termsOfB[i%len(termsOfB)] {
			wire, value := d.wireOfB(own, k), d.coefficient()
			b.add(wire, value)
			d.accumulate(&right, wire, value)
		}
		c.begin(i)
		wire, value := d.wire(own, 0), d.coefficient()
		c.add(wire, value)
		d.accumulate(&rest, wire, value)
		wire = d.nonzero(own)
		c.add(wire, uint32(dictionarySize+i))

		q := &quotients[i-lo]
		q.divisor = m.value(wire)
		m.f.mul(&q.dividend, &left, &right)
		m.f.mul(&q.dividend, &q.dividend, &m.square)
		rest = m.f.negative(&rest)
		m.f.add(&q.dividend, &q.dividend, &rest)
	}
	m.divide(m.solved[(dictionarySize+lo)*groth16.ScalarSize:], quotients)
}

// rowWriter writes rows from entry at on.
type rowWriter struct {
	csr
	at int
}

func (w *rowWriter) begin(row int) { binary.LittleEndian.PutUint32(w.start(uint32(row)), uint32(w.at)) }

func (w *rowWriter) add(wire, value uint32) {
	binary.LittleEndian.PutUint32(w.columns[4*w.at:], wire)
	binary.LittleEndian.PutUint32(w.values[4*w.at:], value)
	w.at++
}

// quotient is one of two canonical elements.
type quotient struct{ dividend, divisor, before element }

// divide writes the quotients in Montgomery form. One inversion serves all of them (Montgomery's trick).
func (m *synthesis) divide(out []byte, quotients []quotient) {
	product := m.f.power(1)
	for i := range quotients {
		q := &quotients[i]
		q.before = product
		m.f.mul(&product, &product, &q.divisor)
	}
	m.f.invert(&product, &product)
	for i := len(quotients) - 1; i >= 0; i-- {
		q := &quotients[i]
		m.f.mul(&q.before, &product, &q.before) // R squared over the divisor
		m.f.mul(&product, &product, &q.divisor)
		m.f.mul(&q.dividend, &q.dividend, &q.before)
		putElement(out[i*groth16.ScalarSize:], &q.dividend)
	}
}

// bindPublic makes the last rows, which have 1 on a public wire or the constant one each.
func (m *synthesis) bindPublic() {
	a, b, c := rowWriter{m.a, termsOfA.before(m.constraints)}, rowWriter{m.b, len(m.b.columns) / 4}, rowWriter{m.c, len(m.c.columns) / 4}
	for row := m.constraints; row <= m.Rows; row++ {
		a.begin(row)
		b.begin(row)
		c.begin(row)
		if row < m.Rows {
			a.add(uint32(row-m.constraints), 0)
		}
	}
}

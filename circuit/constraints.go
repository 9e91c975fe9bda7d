package circuit

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/pinion-zk/pinion/groth16"
)

// ReadConstraints reads the matrices for groth16.Setup: the constraints, and below them the rows that bind the public wires. Wires and
// coefficients are checked. It fails where there are more constraints than a set-up takes. The stage is "constraints".
//
// Memory goes to what it returns: 8 bytes for each term.
func (r *R1CS) ReadConstraints(ctx context.Context, progress Progress) (*groth16.Constraints, error) {
	if rows := r.Constraints + r.Public + 1; rows > maxDomain || r.Wires > maxDomain {
		s := r.file.sections[r1csHeader]
		return nil, r.file.fault(s, s.offset+60, fmt.Sprintf("%d constraints, %d public wires, %d wires", r.Constraints, r.Public, r.Wires),
			fmt.Sprintf("at most %d constraints, public wires and the constant one, and at most as many wires", maxDomain))
	}
	g := newGathering(r)
	var failed error
	err := r.batches(ctx, func(b batch) bool {
		failed = b.each(g.constraint)
		progress.report("constraints", int64(b.first+b.count), int64(r.Constraints))
		return failed == nil
	})
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	if err := r.file.unchanged(); err != nil {
		return nil, err
	}
	return g.finish(), nil
}

// gathering is the matrices A, B and C in the making.
type gathering struct {
	r            *R1CS
	f            field
	matrices     [3]csr
	dictionaries [3]*dictionary // plain; A and B share one
	terms        []term
}

func newGathering(r *R1CS) *gathering {
	g := &gathering{r: r, f: fieldOf(r.Curve)}
	shared := newPlainDictionary(&g.f)
	g.dictionaries = [3]*dictionary{shared, shared, newPlainDictionary(&g.f)}
	return g
}

func newPlainDictionary(f *field) *dictionary {
	d := &dictionary{index: map[[groth16.ScalarSize]byte]uint32{}}
	one := element{1}
	for _, e := range []element{one, f.negative(&one)} {
		var word [groth16.ScalarSize]byte
		putElement(word[:], &e)
		d.add(word[:])
	}
	return d
}

func (g *gathering) constraint(c constraint) (err error) {
	for k := range g.matrices {
		m := &g.matrices[k]
		m.appendStart()
		if g.terms, err = g.r.readTerms(g.terms[:0], &g.f, c, c.terms[k]); err != nil {
			return err
		}
		for _, t := range g.terms {
			m.append(t.wire, g.dictionaries[k].add(t.value))
		}
	}
	return nil
}

func (m *csr) appendStart() {
	m.starts = binary.LittleEndian.AppendUint32(m.starts, uint32(len(m.columns)/4))
}

func (m *csr) append(column, value uint32) {
	m.columns = binary.LittleEndian.AppendUint32(m.columns, column)
	m.values = binary.LittleEndian.AppendUint32(m.values, value)
}

// finish appends the rows of the public wires.
func (g *gathering) finish() *groth16.Constraints {
	for wire := range g.r.Public + 1 {
		for k := range g.matrices {
			g.matrices[k].appendStart()
		}
		g.matrices[0].append(uint32(wire), 0)
	}
	for k := range g.matrices {
		g.matrices[k].appendStart()
	}
	c := &groth16.Constraints{
		Curve: g.r.Curve, Vars: g.r.Wires, Public: g.r.Public, Rows: g.r.Constraints + g.r.Public + 1,
		A: g.matrices[0].matrix(), B: g.matrices[1].matrix(), C: g.matrices[2].matrix(),
	}
	c.Coefficients = g.coefficients(g.dictionaries[0])
	c.CoefficientsC = g.coefficients(g.dictionaries[2])
	return c
}

// coefficients puts plain values into Montgomery form.
func (g *gathering) coefficients(d *dictionary) groth16.Section {
	square := g.f.power(2)
	for at := 0; at < len(d.values); at += groth16.ScalarSize {
		value := elementOf(d.values[at:])
		g.f.mul(&value, &value, &square)
		putElement(d.values[at:], &value)
	}
	return groth16.NewSection(d.values, nil)
}

// matrix is a finished one.
func (m *csr) matrix() groth16.Matrix {
	section := func(b []byte) groth16.Section { return groth16.NewSection(b, nil) }
	return groth16.Matrix{Starts: section(m.starts), Columns: section(m.columns), Values: section(m.values)}
}

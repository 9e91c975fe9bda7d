package circuit

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"

	"github.com/pinion-zk/pinion/groth16"
)

// chunkPoints are checked at a time: enough for all cores, few enough to answer a cancelled context and to show progress.
const chunkPoints = 1 << 13

// Check makes every check that an import makes, and stores nothing: each point on the curve and in the subgroup, each matrix entry
// in range, the shape of the matrices that of a set-up of snarkjs. Stages are "points" and "matrices".
func (z *Zkey) Check(ctx context.Context, progress Progress) error {
	scratch := make([]byte, chunkPoints*z.Curve.G2Size())
	err := z.scanPoints(ctx, progress, func(_ pointSection, _, size int) []byte { return scratch[:size] })
	if err != nil {
		return err
	}
	m, err := z.surveyMatrices(ctx, progress)
	if err != nil {
		return err
	}
	if err := z.checkPublicRows(ctx, m.rows, nil); err != nil {
		return err
	}
	return z.file.unchanged()
}

// scanPoints reads and checks all points: the single ones of the header, then section by section in chunks. A chunk is read into
// what place returns for its section, its offset in it and its size, all in bytes.
func (z *Zkey) scanPoints(ctx context.Context, progress Progress, place func(p pointSection, offset, size int) []byte) error {
	if err := z.checkSinglePoints(); err != nil {
		return err
	}
	var done, total int64
	for _, p := range z.pointSections() {
		total += int64(p.count)
	}
	for _, p := range z.pointSections() {
		s, size := z.file.sections[p.kind], p.pointSize(z.Curve)
		for first := 0; first < p.count; first += chunkPoints {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(chunkPoints, p.count-first)
			chunk := place(p, first*size, n*size)
			offset := s.offset + int64(first)*int64(size)
			if err := z.file.read(chunk, offset); err != nil {
				return err
			}
			if i, why := p.check(z.Curve, chunk); why != "" {
				at := offset + int64(i)*int64(size)
				return z.file.fault(s, at, fmt.Sprintf("point %d of %s: %s", first+i, p.what, why), p.expected())
			}
			done += int64(n)
			progress.report("points", done, total)
		}
	}
	return nil
}

func (p pointSection) expected() string {
	if p.infinity {
		return fmt.Sprintf("a point of G%d", p.group)
	}
	return fmt.Sprintf("a point of G%d, not the infinity", p.group)
}

// check returns the index of the first bad point and what is wrong with it, or "".
func (p pointSection) check(c groth16.Curve, points []byte) (int, string) {
	check := c.CheckG1
	if p.group == 2 {
		check = c.CheckG2
	}
	if i, err := check(points); err != nil {
		return max(i, 0), err.Error()
	}
	size := p.pointSize(c)
	infinity := make([]byte, size)
	for i := 0; !p.infinity && i < len(points)/size; i++ {
		if bytes.Equal(points[i*size:(i+1)*size], infinity) {
			return i, "the infinity"
		}
	}
	return -1, ""
}

func (z *Zkey) checkSinglePoints() error {
	s := z.file.sections[zkeyHeader]
	offset := s.offset + int64(len(zkeyPrimes(z.Curve))) + 12
	for _, single := range []struct {
		what  string
		group int
		point []byte
	}{
		{"alpha1", 1, z.single.alpha1}, {"beta1", 1, z.single.beta1}, {"beta2", 2, z.single.beta2},
		{"gamma2", 2, z.single.gamma2}, {"delta1", 1, z.single.delta1}, {"delta2", 2, z.single.delta2},
	} {
		p := pointSection{group: single.group}
		if _, why := p.check(z.Curve, single.point); why != "" {
			return z.file.fault(s, offset, single.what+": "+why, p.expected())
		}
		offset += int64(len(single.point))
	}
	return nil
}

// coefficient is an entry of the matrices: of A (matrix 0) or B (1).
type coefficient struct {
	matrix, row, signal uint32
	value               []byte // times R squared, little-endian, below r; valid during the visit only
	offset              int64  // of the entry in the file
}

// visitCoefficients reads section 4 in the file's order, each entry in range: matrix 0 or 1, row < rows, signal < Vars, value < r.
func (z *Zkey) visitCoefficients(ctx context.Context, rows int, visit func(c coefficient) error) error {
	s, f := z.file.sections[zkeyCoefficients], fieldOf(z.Curve)
	const chunk = 1 << 14
	buf := make([]byte, min(chunk, z.Entries)*coefficientSize)
	for first := 0; first < z.Entries; first += chunk {
		if err := ctx.Err(); err != nil {
			return err
		}
		entries := buf[:min(chunk, z.Entries-first)*coefficientSize]
		offset := s.offset + 4 + int64(first)*coefficientSize
		if err := z.file.read(entries, offset); err != nil {
			return err
		}
		for ; len(entries) > 0; entries, offset = entries[coefficientSize:], offset+coefficientSize {
			c := coefficient{
				matrix: binary.LittleEndian.Uint32(entries),
				row:    binary.LittleEndian.Uint32(entries[4:]),
				signal: binary.LittleEndian.Uint32(entries[8:]),
				value:  entries[12:coefficientSize],
				offset: offset,
			}
			if err := z.checkCoefficient(&f, c, rows); err != nil {
				return err
			}
			if err := visit(c); err != nil {
				return err
			}
		}
	}
	return nil
}

func (z *Zkey) checkCoefficient(f *field, c coefficient, rows int) error {
	value := elementOf(c.value)
	switch {
	case c.matrix > 1:
		return z.badCoefficient(c, 0, fmt.Sprintf("matrix %d", c.matrix), "0 or 1")
	case int64(c.row) >= int64(rows):
		return z.badCoefficient(c, 4, fmt.Sprintf("row %d", c.row), fmt.Sprintf("less than %d", rows))
	case int64(c.signal) >= int64(z.Vars):
		return z.badCoefficient(c, 8, fmt.Sprintf("wire %d", c.signal), fmt.Sprintf("less than %d", z.Vars))
	case !f.holds(&value):
		return z.badCoefficient(c, 12, "a coefficient not below the modulus", "a reduced one")
	}
	return nil
}

func (z *Zkey) badCoefficient(c coefficient, within int64, found, expected string) error {
	return z.file.fault(z.file.sections[zkeyCoefficients], c.offset+within, found, expected)
}

// matrices is what a first reading of section 4 tells.
type matrices struct {
	rows       int    // in use: up to the last one that has an entry
	entries    [2]int // of A and B
	dictionary *dictionary
}

// surveyMatrices counts, collects the distinct coefficients, and checks that the domain is what a set-up takes for that many rows.
func (z *Zkey) surveyMatrices(ctx context.Context, progress Progress) (*matrices, error) {
	m := &matrices{dictionary: newDictionary(z.Curve)}
	seen := int64(0)
	err := z.visitCoefficients(ctx, z.Domain, func(c coefficient) error {
		m.rows = max(m.rows, int(c.row)+1)
		m.entries[c.matrix]++
		m.dictionary.add(c.value)
		if seen++; seen%(1<<16) == 0 {
			progress.report("matrices", seen, int64(z.Entries))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	progress.report("matrices", seen, int64(z.Entries))

	s := z.file.sections[zkeyCoefficients]
	if m.rows <= z.Public {
		return nil, z.file.fault(s, s.offset, fmt.Sprintf("%d rows", m.rows), fmt.Sprintf("at least one for each of the %d public wires and the constant", z.Public))
	}
	if domain := domainOf(m.rows); domain != z.Domain {
		return nil, z.file.fault(s, s.offset, fmt.Sprintf("%d rows in a domain of %d", m.rows, z.Domain), fmt.Sprintf("a domain of %d", domain))
	}
	return m, nil
}

// domainOf is the domain that a set-up takes for so many rows.
func domainOf(rows int) int {
	domain := 2
	for domain < rows {
		domain *= 2
	}
	return domain
}

// checkPublicRows checks that the last rows are those that bind the public wires: row constraints+s has 1 on wire s in A, and nothing
// else. Without them proofs could be moved to other public signals. also, if not nil, sees each entry.
func (z *Zkey) checkPublicRows(ctx context.Context, rows int, also func(c coefficient)) error {
	constraints := rows - z.Public - 1
	one := encodedOne(z.Curve)
	bound := make([]bool, z.Public+1)
	err := z.visitCoefficients(ctx, rows, func(c coefficient) error {
		if s := int(c.row) - constraints; s >= 0 {
			if c.matrix != 0 || int(c.signal) != s || bound[s] || !bytes.Equal(c.value, one) {
				return z.badCoefficient(c, 0, fmt.Sprintf("another entry in row %d", c.row), fmt.Sprintf("only 1 on public wire %d in A", s))
			}
			bound[s] = true
		}
		if also != nil {
			also(c)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for wire, ok := range bound {
		if !ok {
			s := z.file.sections[zkeyCoefficients]
			return z.file.fault(s, s.offset, fmt.Sprintf("row %d empty", constraints+wire), fmt.Sprintf("1 on public wire %d in A", wire))
		}
	}
	return nil
}

// encodedOne is 1 as section 4 has it: R squared mod r.
func encodedOne(c groth16.Curve) []byte { return encodedCoefficient(c, 1) }

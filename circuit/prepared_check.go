package circuit

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/big"

	"github.com/pinion-zk/pinion/groth16"
)

// check makes the checks of an import (see Zkey.Check) on a prepared file that was made elsewhere: the checksums, the counts, each
// point on the curve and in the subgroup, each matrix entry in range, the shape of the matrices. Errors are *FormatError.
func (p *Prepared) check(ctx context.Context, digest Digest, progress Progress) error {
	if p.header.digest != digest {
		return p.bad(0, "the key of zkey "+p.header.digest.String(), digest.String())
	}
	if err := p.Verify(ctx, progress); err != nil {
		return err
	}
	if err := p.checkCounts(); err != nil {
		return err
	}
	if err := p.checkPoints(ctx, progress); err != nil {
		return err
	}
	return p.checkMatrices(ctx, progress)
}

func (p *Prepared) bad(offset int64, found, expected string) error {
	return &FormatError{File: p.name, Offset: offset, Found: found, Expected: expected}
}

// checkCounts checks what decoding the header, which fixes sizes only, left open.
func (p *Prepared) checkCounts() error {
	h := &p.header
	if h.vars > maxDomain {
		return p.bad(16, fmt.Sprintf("%d wires", h.vars), fmt.Sprintf("at most %d", maxDomain))
	}
	if domain := domainOf(h.rows); h.domain != domain || domain > maxDomain {
		return p.bad(32, fmt.Sprintf("%d rows in a domain of %d", h.rows, h.domain), fmt.Sprintf("a domain of %d, at most %d", domain, maxDomain))
	}
	return nil
}

func (p *Prepared) checkPoints(ctx context.Context, progress Progress) error {
	h := &p.header
	if err := p.checkSinglePoints(); err != nil {
		return err
	}
	var done, total int64
	sections := pointSections(h.vars, h.public, h.domain)
	for _, s := range sections {
		total += int64(s.count)
	}
	for _, s := range sections {
		lo, size := p.layout.parts[placeOf[s.kind]].lo, s.pointSize(h.curve)
		for first := 0; first < s.count; first += chunkPoints {
			if err := ctx.Err(); err != nil {
				return err
			}
			n := min(chunkPoints, s.count-first)
			chunk, err := p.section(placeOf[s.kind]).Range(first*size, (first+n)*size)
			if err != nil {
				return err
			}
			if i, why := s.check(h.curve, chunk); why != "" {
				return p.bad(lo+int64(first+i)*int64(size), fmt.Sprintf("point %d of %s: %s", first+i, s.what, why), s.expected())
			}
			done += int64(n)
			progress.report("points", done, total)
		}
	}
	return nil
}

func (p *Prepared) checkSinglePoints() error {
	single, err := p.section(partSingle).Bytes()
	if err != nil {
		return err
	}
	g1, g2 := 3*p.header.curve.G1Size(), 3*p.header.curve.G2Size()
	for group, points := range map[int][]byte{1: single[:g1], 2: single[g1 : g1+g2]} {
		s := pointSection{group: group}
		if i, why := s.check(p.header.curve, points); why != "" {
			return p.bad(p.layout.parts[partSingle].lo, fmt.Sprintf("single point %d of G%d: %s", i, group, why), s.expected())
		}
	}
	return nil
}

func (p *Prepared) checkMatrices(ctx context.Context, progress Progress) error {
	h := &p.header
	if err := p.checkCoefficients(); err != nil {
		return err
	}
	done, total := int64(0), int64(h.entries[0]+h.entries[1])
	for i, m := range []matrixParts{{partStartsA, partColumnsA, partValuesA}, {partStartsB, partColumnsB, partValuesB}} {
		if err := p.checkStarts(m, h.entries[i]); err != nil {
			return err
		}
		if err := p.checkBelow(ctx, m.columns, h.vars, "wire"); err != nil {
			return err
		}
		if err := p.checkBelow(ctx, m.values, h.coefficients, "coefficient"); err != nil {
			return err
		}
		if err := p.checkPublicRows(m, i == 0); err != nil {
			return err
		}
		done += int64(h.entries[i])
		progress.report("matrices", done, total)
	}
	return nil
}

// matrixParts are the parts of one matrix.
type matrixParts struct{ starts, columns, values part }

// checkCoefficients checks that all are below r, and that the first two are those which provers don't look at: 1 and -1.
func (p *Prepared) checkCoefficients() error {
	coefficients, err := p.section(partCoefficients).Bytes()
	if err != nil {
		return err
	}
	lo := p.layout.parts[partCoefficients].lo
	if i, err := p.header.curve.CheckScalars(coefficients); err != nil {
		return p.bad(lo+int64(i)*groth16.ScalarSize, fmt.Sprintf("coefficient %d: %v", i, err), "a reduced one")
	}
	for i, n := range []int64{1, -1} {
		one := new(big.Int).Lsh(big.NewInt(n), 256)
		want := littleEndian(one.Mod(one, p.header.curve.ScalarModulus()), groth16.ScalarSize)
		if at := i * groth16.ScalarSize; !bytes.Equal(coefficients[at:at+groth16.ScalarSize], want) {
			return p.bad(lo+int64(at), fmt.Sprintf("another coefficient %d", i), fmt.Sprint(n))
		}
	}
	return nil
}

// checkStarts checks that rows begin at 0, none before the one above it, and end with the entries.
func (p *Prepared) checkStarts(m matrixParts, entries int) error {
	starts, err := p.section(m.starts).Bytes()
	if err != nil {
		return err
	}
	before := uint32(0)
	for row := 0; row <= p.header.rows; row++ {
		start := binary.LittleEndian.Uint32(starts[4*row:])
		if start < before || row == 0 && start != 0 || row == p.header.rows && int64(start) != int64(entries) {
			return p.bad(p.layout.parts[m.starts].lo+int64(4*row), fmt.Sprintf("row %d from entry %d of %d", row, start, entries),
				fmt.Sprintf("at least %d, from 0 to the last", before))
		}
		before = start
	}
	return nil
}

// checkBelow checks the numbers of a part.
func (p *Prepared) checkBelow(ctx context.Context, of part, limit int, what string) error {
	section := p.section(of)
	const step = 16 * chunkBytes
	for lo := 0; lo < section.Len(); lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		numbers, err := section.Range(lo, min(lo+step, section.Len()))
		if err != nil {
			return err
		}
		for at := 0; at < len(numbers); at += 4 {
			if n := binary.LittleEndian.Uint32(numbers[at:]); int64(n) >= int64(limit) {
				return p.bad(p.layout.parts[of].lo+int64(lo+at), fmt.Sprintf("%s %d", what, n), fmt.Sprintf("less than %d", limit))
			}
		}
	}
	return nil
}

// checkPublicRows is Zkey.checkPublicRows: the last rows have 1 on the wire that each binds in A, and nothing in B. Starts, columns
// and values are in range.
func (p *Prepared) checkPublicRows(m matrixParts, bind bool) error {
	first := p.header.rows - p.header.public - 1
	var parts [3][]byte
	for i, of := range []part{m.starts, m.columns, m.values} {
		var err error
		if parts[i], err = p.section(of).Bytes(); err != nil {
			return err
		}
	}
	number := func(of []byte, i int) int { return int(binary.LittleEndian.Uint32(of[4*i:])) }
	for wire := range p.header.public + 1 {
		at, end := number(parts[0], first+wire), number(parts[0], first+wire+1)
		fits := at == end
		if bind {
			fits = at+1 == end && number(parts[1], at) == wire && number(parts[2], at) == 0
		}
		if !fits {
			return p.bad(p.layout.parts[m.starts].lo+int64(4*(first+wire)), fmt.Sprintf("another row %d", first+wire),
				fmt.Sprintf("only 1 on public wire %d in A", wire))
		}
	}
	return nil
}

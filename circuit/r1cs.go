package circuit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/pinion-zk/pinion/groth16"
)

// Sections of an .r1cs.
const (
	r1csHeader      = 1 // u32 n8 | prime | u32 wires, public outputs, public inputs, private inputs | u64 labels | u32 constraints
	r1csConstraints = 2 // constraints x A, B, C, each u32 n, n x {u32 wire | value, plain}
	r1csLabels      = 3 // u64 for each wire
	r1csGates       = 4 // u32 n, n custom gates (plonk)
	r1csGateUses    = 5 // u32 n, n uses of them

	r1csHeaderSize = 4 + groth16.ScalarSize + 4*4 + 8 + 4
)

// R1CS is an open constraint file whose header was checked. It is safe for concurrent use.
type R1CS struct {
	Curve       groth16.Curve
	Wires       int // the constant one among them
	Public      int // outputs and public inputs
	Constraints int

	file *container
	body span
}

// OpenR1CS reads and checks the header. What is wrong with the file is a *FormatError. Custom gates are refused: Groth16 has none.
func OpenR1CS(path string) (*R1CS, error) {
	c, err := openContainer(path, "r1cs", 1)
	if err != nil {
		return nil, err
	}
	r := &R1CS{file: c}
	for _, step := range []func() error{r.readHeader, r.refuseGates} {
		if err := step(); err != nil {
			return nil, errors.Join(err, c.file.Close())
		}
	}
	return r, nil
}

// Close closes the file.
func (r *R1CS) Close() error { return r.file.file.Close() }

func (r *R1CS) readHeader() error {
	s, err := r.file.findSized(r1csHeader, r1csHeaderSize, "the header, with a prime of 32 bytes")
	if err != nil {
		return err
	}
	if r.body, err = r.file.find(r1csConstraints, "the constraints"); err != nil {
		return err
	}
	var h [r1csHeaderSize]byte
	if err := r.file.read(h[:], s.offset); err != nil {
		return err
	}
	if n8 := binary.LittleEndian.Uint32(h[:]); n8 != groth16.ScalarSize {
		return r.file.fault(s, s.offset, fmt.Sprintf("a prime of %d bytes", n8), "32")
	}
	var known bool
	if r.Curve, known = curveOfScalars(h[4:36]); !known {
		return r.file.fault(s, s.offset+4, primeName(0), "that of bn128 or bls12381")
	}
	count := func(at int) int { return int(binary.LittleEndian.Uint32(h[at:])) }
	outputs, public, private := count(40), count(44), count(48)
	r.Wires, r.Public, r.Constraints = count(36), outputs+public, count(60)
	if named := 1 + outputs + public + private; r.Wires < named {
		return r.file.fault(s, s.offset+36, fmt.Sprintf("%d wires", r.Wires), fmt.Sprintf("at least %d: the constant one, outputs and inputs", named))
	}
	if least := 12 * int64(r.Constraints); r.body.size < least {
		return r.file.fault(r.body, r.body.offset, fmt.Sprintf("%d bytes", r.body.size), fmt.Sprintf("at least %d: %d constraints", least, r.Constraints))
	}
	if labels, ok := r.file.sections[r1csLabels]; ok && labels.size != 8*int64(r.Wires) {
		return r.file.fault(labels, labels.offset, fmt.Sprintf("%d bytes", labels.size), fmt.Sprintf("%d: labels of %d wires", 8*int64(r.Wires), r.Wires))
	}
	return nil
}

func (r *R1CS) refuseGates() error {
	for _, kind := range []uint32{r1csGates, r1csGateUses} {
		s, ok := r.file.sections[kind]
		if !ok {
			continue
		}
		var word [4]byte
		if err := r.file.read(word[:min(s.size, 4)], s.offset); err != nil {
			return err
		}
		if s.size != 4 || word != [4]byte{} {
			return r.file.fault(s, s.offset, "custom gates", "none: Groth16 does not know them")
		}
	}
	return nil
}

// constraint is one of A.w * B.w = C.w, its three linear combinations as in the file: terms of {u32 wire | value}.
type constraint struct {
	index  int
	offset int64 // in the file
	terms  [3][]byte
}

const termSize = 4 + groth16.ScalarSize

// batch is a run of whole constraints.
type batch struct {
	first  int // index of the first one
	count  int
	offset int64
	data   []byte
}

func (b batch) each(visit func(c constraint) error) error {
	data, offset := b.data, b.offset
	for i := range b.count {
		c := constraint{index: b.first + i, offset: offset}
		size := 0
		for k := range c.terms {
			n := 4 + termSize*int(binary.LittleEndian.Uint32(data[size:]))
			c.terms[k] = data[size+4 : size+n]
			size += n
		}
		if err := visit(c); err != nil {
			return err
		}
		data, offset = data[size:], offset+int64(size)
	}
	return nil
}

// batchSize is about how much of the file a batch has; a longer constraint makes a longer batch.
const batchSize = 1 << 20

// batches reads the constraints in order and hands them out in batches that the receiver may keep. It checks that there are as many
// as the header tells, and nothing after them; wires and values are unchecked.
func (r *R1CS) batches(ctx context.Context, hand func(b batch) bool) error {
	var rest []byte
	at, end := r.body.offset, r.body.offset+r.body.size // at: where rest begins
	for first := 0; first < r.Constraints; {
		if err := ctx.Err(); err != nil {
			return err
		}
		have := int64(len(rest))
		data := make([]byte, have+min(max(batchSize, have), end-at-have))
		copy(data, rest)
		if err := r.file.read(data[have:], at+have); err != nil {
			return err
		}
		b, err := r.cut(data, at, end, first)
		if err != nil {
			return err
		}
		if b.count > 0 && !hand(b) {
			return nil
		}
		first += b.count
		rest, at = data[len(b.data):], at+int64(len(b.data))
	}
	if at != end {
		return r.file.fault(r.body, at, fmt.Sprintf("%d bytes after the last of %d constraints", end-at, r.Constraints), "the end of the section")
	}
	return nil
}

// cut takes the whole constraints from the start of data, which lies at offset.
func (r *R1CS) cut(data []byte, offset, end int64, first int) (batch, error) {
	b := batch{first: first, offset: offset}
	whole, at := 0, 0 // up to here: whole constraints, whole linear combinations
	for part := 0; first+b.count < r.Constraints; {
		if left := end - offset - int64(at); left < 4 {
			return batch{}, r.file.fault(r.body, offset+int64(at), "the end of the section", fmt.Sprintf("constraint %d of %d", first+b.count, r.Constraints))
		}
		if len(data)-at < 4 {
			break
		}
		n := int64(binary.LittleEndian.Uint32(data[at:]))
		if left := end - offset - int64(at) - 4; n*termSize > left {
			return batch{}, r.file.fault(r.body, offset+int64(at), fmt.Sprintf("%d terms in the %d bytes left", n, left), fmt.Sprintf("at most %d", left/termSize))
		}
		if int64(len(data)-at-4) < n*termSize {
			break
		}
		at += 4 + int(n)*termSize
		if part++; part == 3 {
			part, whole = 0, at
			b.count++
		}
	}
	b.data = data[:whole]
	return b, nil
}

// term is an entry of a linear combination.
type term struct {
	wire  uint32
	value []byte
}

// readTerms appends the terms of a linear combination to dst, each wire and value in range.
func (r *R1CS) readTerms(dst []term, f *field, c constraint, raw []byte) ([]term, error) {
	for ; len(raw) > 0; raw = raw[termSize:] {
		t := term{wire: binary.LittleEndian.Uint32(raw), value: raw[4:termSize]}
		if int64(t.wire) >= int64(r.Wires) {
			return nil, r.file.fault(r.body, c.offset, fmt.Sprintf("wire %d in constraint %d", t.wire, c.index), fmt.Sprintf("less than %d", r.Wires))
		}
		if value := elementOf(t.value); !f.holds(&value) {
			return nil, r.file.fault(r.body, c.offset, fmt.Sprintf("a coefficient not below the modulus in constraint %d", c.index), "a reduced one")
		}
		dst = append(dst, t)
	}
	return dst, nil
}

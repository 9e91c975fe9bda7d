package circuit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/pinion-zk/pinion/groth16"
)

// Shape is what a witness must fit.
type Shape struct {
	Curve groth16.Curve
	Vars  int // values, the constant one among them
}

func (s Shape) String() string { return fmt.Sprintf("%d wires on %s", s.Vars, s.Curve) }

// wtns layout: section 1 is u32 n8 | prime | u32 values, section 2 the values, plain little-endian.
const (
	wtnsMagic      = "wtns"
	wtnsVersion    = 2
	wtnsHeader     = 1
	wtnsValues     = 2
	wtnsHeaderSize = 4 + groth16.ScalarSize + 4
)

// WtnsSize is the size in bytes of a .wtns with that many values, as circom and EncodeWtns write it.
func WtnsSize(vars int) int64 { return 12 + 12 + wtnsHeaderSize + 12 + groth16.ScalarSize*int64(vars) }

// EncodeWtns writes words (32 bytes each, little-endian, canonical) as a .wtns.
func EncodeWtns(w io.Writer, curve groth16.Curve, words []byte) error {
	head := []byte(wtnsMagic)
	head = binary.LittleEndian.AppendUint32(head, wtnsVersion)
	head = binary.LittleEndian.AppendUint32(head, 2)
	head = binary.LittleEndian.AppendUint32(head, wtnsHeader)
	head = binary.LittleEndian.AppendUint64(head, wtnsHeaderSize)
	head = binary.LittleEndian.AppendUint32(head, groth16.ScalarSize)
	head = append(head, littleEndian(curve.ScalarModulus(), groth16.ScalarSize)...)
	head = binary.LittleEndian.AppendUint32(head, uint32(len(words)/groth16.ScalarSize))
	head = binary.LittleEndian.AppendUint32(head, wtnsValues)
	head = binary.LittleEndian.AppendUint64(head, uint64(len(words)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	_, err := w.Write(words)
	return err
}

// DecodeWtns reads a .wtns of size bytes from r, its values straight into dst: want.Vars x 32 bytes, canonical little-endian, each
// below the modulus, the first one 1. It reads r to its end, so that a reader that checks a digest there has done so.
// What is wrong with the file is a *FormatError; no value is in it. After an error dst holds rubbish.
func DecodeWtns(dst []byte, r io.Reader, size int64, want Shape) error {
	if len(dst) != want.Vars*groth16.ScalarSize {
		return fmt.Errorf("buffer of %d bytes for a witness of %d values", len(dst), want.Vars)
	}
	d := wtnsDecoder{r: r, left: size, dst: dst, want: want}
	if err := d.decode(); err != nil {
		return err
	}
	return d.checkValues()
}

type wtnsDecoder struct {
	r         io.Reader
	at, left  int64 // bytes read, bytes to come
	dst       []byte
	want      Shape
	seen      map[uint32]bool
	valuesAt  int64
	sectionIn uint32
}

func (d *wtnsDecoder) decode() error {
	var head [12]byte
	if err := d.read(head[:]); err != nil {
		return err
	}
	sections, err := parseFrame("witness", head[:], wtnsMagic, wtnsVersion)
	if err != nil {
		return d.explain(err, head[:])
	}
	d.seen = make(map[uint32]bool, sections)
	for range sections {
		if err := d.section(); err != nil {
			return err
		}
	}
	d.sectionIn = 0
	for _, kind := range []uint32{wtnsHeader, wtnsValues} {
		if !d.seen[kind] {
			d.sectionIn = kind
			return d.fault(d.at, "no such section", "sections 1 and 2")
		}
	}
	if d.left != 0 {
		return d.fault(d.at, fmt.Sprintf("%d bytes after the last section", d.left), "the end of the file")
	}
	return d.end()
}

// explain says what the input is likely to be if it begins with the value 1 and has the size of some values: bare witness words, which
// go-rapidsnark's CalculateBinWitness returns.
func (d *wtnsDecoder) explain(err error, head []byte) error {
	var f *FormatError
	total := d.at + d.left
	one := append([]byte{1}, make([]byte, len(head)-1)...)
	if total%groth16.ScalarSize == 0 && bytes.Equal(head, one) && errors.As(err, &f) {
		f.Expected += fmt.Sprintf(" (this looks like %d bare values without the header of a .wtns)", total/groth16.ScalarSize)
	}
	return err
}

func (d *wtnsDecoder) section() error {
	var head [12]byte
	d.sectionIn = 0
	if err := d.read(head[:]); err != nil {
		return err
	}
	kind, length := binary.LittleEndian.Uint32(head[:]), binary.LittleEndian.Uint64(head[4:])
	d.sectionIn = kind
	if length > uint64(d.left) {
		return d.fault(d.at, fmt.Sprintf("%d bytes up to the end of the file", d.left), fmt.Sprint(length))
	}
	if d.seen[kind] {
		return d.fault(d.at-12, "the section a second time", "each section once")
	}
	d.seen[kind] = true
	switch kind {
	case wtnsHeader:
		return d.header(length)
	case wtnsValues:
		if length != uint64(len(d.dst)) {
			return d.fault(d.at, fmt.Sprintf("%d bytes", length), fmt.Sprintf("%d: %d values", len(d.dst), d.want.Vars))
		}
		d.valuesAt = d.at
		return d.read(d.dst)
	}
	return d.skip(int64(length))
}

func (d *wtnsDecoder) header(length uint64) error {
	if length != wtnsHeaderSize {
		return d.fault(d.at, fmt.Sprintf("%d bytes", length), fmt.Sprintf("%d: a prime of 32 bytes", wtnsHeaderSize))
	}
	var h [wtnsHeaderSize]byte
	start := d.at
	if err := d.read(h[:]); err != nil {
		return err
	}
	if n8 := binary.LittleEndian.Uint32(h[:]); n8 != groth16.ScalarSize {
		return d.fault(start, fmt.Sprintf("a prime of %d bytes", n8), "32")
	}
	if curve, _ := curveOfScalars(h[4:36]); curve != d.want.Curve {
		return d.fault(start+4, primeName(curve), primeName(d.want.Curve))
	}
	if n := binary.LittleEndian.Uint32(h[36:]); int64(n) != int64(d.want.Vars) {
		return d.fault(start+36, fmt.Sprintf("%d values", n), fmt.Sprintf("%d", d.want.Vars))
	}
	return nil
}

func primeName(c groth16.Curve) string {
	if c == 0 {
		return "an unknown prime"
	}
	return "the prime of " + c.String()
}

func (d *wtnsDecoder) read(buf []byte) error {
	if int64(len(buf)) > d.left {
		return d.fault(d.at+d.left, "the end of the file", fmt.Sprintf("%d more bytes", int64(len(buf))-d.left))
	}
	n, err := io.ReadFull(d.r, buf)
	return d.advance(int64(n), int64(len(buf)), err)
}

func (d *wtnsDecoder) skip(n int64) error {
	done, err := io.CopyN(io.Discard, d.r, n)
	return d.advance(done, n, err)
}

func (d *wtnsDecoder) advance(done, want int64, err error) error {
	d.at += done
	d.left -= done
	switch {
	case done == want:
		return nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return d.fault(d.at, "the end of the file", fmt.Sprintf("%d more bytes", d.left))
	}
	return fmt.Errorf("reading the witness: %w", err)
}

// end reads on to the reader's end: some check what they delivered there.
func (d *wtnsDecoder) end() error {
	var more [1]byte
	switch n, err := io.ReadFull(d.r, more[:]); {
	case n != 0:
		return d.fault(d.at, "more bytes", "the end of the file")
	case !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the witness: %w", err)
	}
	return nil
}

func (d *wtnsDecoder) checkValues() error {
	d.sectionIn = wtnsValues
	bad, err := d.want.Curve.CheckScalars(d.dst)
	if bad >= 0 {
		at := d.valuesAt + int64(bad)*groth16.ScalarSize
		return d.fault(at, fmt.Sprintf("value %d not below the modulus", bad), "a reduced value")
	}
	if err != nil {
		return err
	}
	if elementOf(d.dst) != (element{1}) {
		return d.fault(d.valuesAt, "another first value", "the constant 1")
	}
	return nil
}

func (d *wtnsDecoder) fault(offset int64, found, expected string) error {
	return &FormatError{File: "witness", Section: d.sectionIn, Offset: offset, Found: found, Expected: expected}
}

package circuit

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/pinion-zk/pinion/groth16"
)

// WriteZkey writes a key of groth16.Setup in its odd coset form as a .zkey, which snarkjs reads too. multiply makes the points, some at a
// time, so that they are never all in memory. The file appears whole or not at all; room on the disk is reserved first. Stages are
// "points to write" and "matrices to write".
//
// The circuit's hash in section 10, which only contributions to a ceremony need, is zero: this key is none to contribute to.
func WriteZkey(ctx context.Context, path string, pk *groth16.ProvingKey, vk *groth16.VerifyingKey, multiply groth16.Multiplier, progress Progress) error {
	if err := pk.Check(); err != nil {
		return fmt.Errorf("proving key: %w", err)
	}
	switch {
	case !pk.Exponents:
		return errors.New("proving key: points, expected the exponents that a set-up leaves")
	case pk.Quotient != groth16.OddCoset:
		return fmt.Errorf("proving key: the quotient in form %v, expected %v: a zkey has no other", pk.Quotient, groth16.OddCoset)
	case pk.Entries > math.MaxUint32:
		return fmt.Errorf("proving key: %d entries of the matrices, expected at most %d: a zkey has no room for more", pk.Entries, math.MaxUint32)
	}
	return writeAtomically(path, func(f *os.File) error {
		w := &zkeyWriter{out: bufio.NewWriterSize(f, 1<<20), ctx: ctx, pk: pk, vk: vk, multiply: multiply, progress: progress}
		if err := allocate(f, w.size()); err != nil {
			return err
		}
		if err := w.write(); err != nil {
			return err
		}
		return w.out.Flush()
	})
}

// zkeyWriter writes the sections in the order of their numbers.
type zkeyWriter struct {
	out      *bufio.Writer
	ctx      context.Context
	pk       *groth16.ProvingKey
	vk       *groth16.VerifyingKey
	multiply groth16.Multiplier
	progress Progress

	done, total int64 // points
}

// zkeySection is a section to write.
type zkeySection struct {
	kind  uint32
	size  int64
	write func() error
}

func (w *zkeyWriter) sections() []zkeySection {
	c := w.pk.Curve
	bytes := func(kind uint32, b []byte) zkeySection {
		return zkeySection{kind, int64(len(b)), func() error { w.put(b); return nil }}
	}
	points := func(kind uint32, group groth16.Group, s groth16.Section) zkeySection {
		n := int64(s.Len() / groth16.ScalarSize)
		w.total += n
		return zkeySection{kind, n * int64(c.PointSize(group)), func() error { return w.points(group, s) }}
	}
	const noContributions = 64 + 4
	return []zkeySection{
		bytes(zkeyProtocol, []byte{1, 0, 0, 0}),
		bytes(zkeyHeader, w.header()),
		bytes(zkeyIC, w.vk.IC()),
		{zkeyCoefficients, 4 + coefficientSize*int64(w.pk.Entries), w.matrices},
		points(zkeyA, groth16.G1, w.pk.PointsA),
		points(zkeyB1, groth16.G1, w.pk.PointsB1),
		points(zkeyB2, groth16.G2, w.pk.PointsB2),
		points(zkeyC, groth16.G1, w.pk.PointsC),
		points(zkeyH, groth16.G1, w.pk.PointsH),
		bytes(zkeyContributions, make([]byte, noContributions)),
	}
}

func (w *zkeyWriter) size() int64 {
	size := int64(12)
	for _, s := range w.sections() {
		size += 12 + s.size
	}
	return size
}

func (w *zkeyWriter) write() error {
	w.total = 0
	sections := w.sections()
	head := binary.LittleEndian.AppendUint32([]byte("zkey"), 1)
	w.put(binary.LittleEndian.AppendUint32(head, uint32(len(sections))))
	for _, s := range sections {
		head := binary.LittleEndian.AppendUint32(nil, s.kind)
		w.put(binary.LittleEndian.AppendUint64(head, uint64(s.size)))
		if err := s.write(); err != nil {
			return err
		}
	}
	return nil
}

// put writes b. An error stays with the writer: the next write doesn't happen, and Flush returns it.
func (w *zkeyWriter) put(b []byte) { _, _ = w.out.Write(b) }

func (w *zkeyWriter) header() []byte {
	pk := w.pk
	h := zkeyPrimes(pk.Curve)
	for _, n := range []int{pk.Vars, pk.Public, pk.Domain} {
		h = binary.LittleEndian.AppendUint32(h, uint32(n))
	}
	for _, point := range [][]byte{pk.Alpha1, pk.Beta1, pk.Beta2, w.vk.Gamma2(), pk.Delta1, pk.Delta2} {
		h = append(h, point...)
	}
	return h
}

// multipliedAtOnce are points in memory at a time: enough to keep a device busy.
const multipliedAtOnce = 1 << 20

func (w *zkeyWriter) points(group groth16.Group, exponents groth16.Section) error {
	size := w.pk.Curve.PointSize(group)
	buffer := make([]byte, min(multipliedAtOnce, exponents.Len()/groth16.ScalarSize)*size)
	for lo := 0; lo < exponents.Len(); lo += multipliedAtOnce * groth16.ScalarSize {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		scalars, err := exponents.Range(lo, min(lo+multipliedAtOnce*groth16.ScalarSize, exponents.Len()))
		if err != nil {
			return err
		}
		n := len(scalars) / groth16.ScalarSize
		if err := w.multiply(w.pk.Curve, group, scalars, buffer[:n*size]); err != nil {
			return err
		}
		w.put(buffer[:n*size])
		w.done += int64(n)
		w.progress.report("points to write", w.done, w.total)
	}
	return nil
}

// matrices writes the entries row by row, those of A first.
func (w *zkeyWriter) matrices() error {
	coefficients, err := encodedCoefficients(w.pk)
	if err != nil {
		return err
	}
	var readers [2]*rowReader
	for k, m := range []groth16.Matrix{w.pk.A, w.pk.B} {
		if readers[k], err = newRowReader(m, coefficients); err != nil {
			return err
		}
	}
	w.put(binary.LittleEndian.AppendUint32(nil, uint32(w.pk.Entries)))
	const between = 1 << 16
	var terms []term
	var entry [coefficientSize]byte
	for row := range w.pk.Rows {
		if row%between == 0 {
			if err := w.ctx.Err(); err != nil {
				return err
			}
			w.progress.report("matrices to write", int64(row), int64(w.pk.Rows))
		}
		for k, reader := range readers {
			if terms, err = reader.terms(terms[:0], row); err != nil {
				return err
			}
			for _, t := range terms {
				binary.LittleEndian.PutUint32(entry[0:], uint32(k))
				binary.LittleEndian.PutUint32(entry[4:], uint32(row))
				binary.LittleEndian.PutUint32(entry[8:], t.wire)
				copy(entry[12:], t.value)
				w.put(entry[:])
			}
		}
	}
	return nil
}

// encodedCoefficients are those of a key as section 4 has them: times R once more.
func encodedCoefficients(pk *groth16.ProvingKey) ([]byte, error) {
	coefficients, err := pk.Coefficients.Bytes()
	if err != nil {
		return nil, err
	}
	f := fieldOf(pk.Curve)
	square := f.power(2)
	encoded := make([]byte, len(coefficients))
	for at := 0; at < len(encoded); at += groth16.ScalarSize {
		value := elementOf(coefficients[at:])
		f.mul(&value, &value, &square)
		putElement(encoded[at:], &value)
	}
	return encoded, nil
}

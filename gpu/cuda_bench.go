package gpu

import (
	"bytes"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

// BenchKind is a part of the work on a card that can be measured by itself.
type BenchKind uint32

// The kinds are numbered as in pinion.h.
const (
	BenchMultiplications BenchKind = iota + 1 // bare products of scalars: what bounds transforms
	BenchAdditions                            // bare additions of an affine point to a sum: what bounds sums
	BenchMSM                                  // a sum of products of points by scalars: digits, sort and buckets
	BenchNTTDown                              // values on the domain to coefficients
	BenchNTTUp                                // coefficients to values on the odd coset
	BenchQuotient                             // values of A.w and B.w to those of the quotient
)

func (k BenchKind) String() string {
	switch k {
	case BenchMultiplications:
		return "multiplications"
	case BenchAdditions:
		return "additions"
	case BenchMSM:
		return "MSM"
	case BenchNTTDown:
		return "NTT down"
	case BenchNTTUp:
		return "NTT up"
	case BenchQuotient:
		return "quotient"
	}
	return fmt.Sprintf("kind %d", uint32(k))
}

// BenchCase is something to measure.
type BenchCase struct {
	Kind        BenchKind
	Curve       groth16.Curve
	Group       groth16.Group // of additions and sums
	Log         int           // 2^Log points, elements or bare operations
	Tables      int           // of a sum: most tables of multiples of its bases, the bases included; 0 leaves it to the library
	Sparse      int           // of a sum: of a thousand scalars so many are zero or one, half and half
	Repetitions int
}

func (c BenchCase) String() string {
	text := fmt.Sprintf("%v %v", c.Kind, c.Curve)
	if c.Group != 0 {
		text += fmt.Sprintf(" G%d", c.Group)
	}
	return text + fmt.Sprintf(" 2^%d", c.Log)
}

// BenchResult is what the repetitions took on the card's own clock.
type BenchResult struct {
	Least, Median, Greatest time.Duration
	Operations              uint64 // bare operations; of a sum, the points that were added to buckets
	Bits, Tables            int    // of a sum: the width of its windows, and how many tables it had
}

// Bench measures one thing, after one repetition that doesn't count, on fresh random points and scalars that are made on the card, and
// checks what came out: sums against one multiplication of the generator on the host, transforms by a value of the polynomial at a random place. ErrMemory
// says that the card has too little memory for it. Bench has to be called as the methods of Device are, with nothing under way.
func (c *Card) Bench(what BenchCase) (BenchResult, error) {
	result, err := c.bench(what)
	if err != nil {
		return BenchResult{}, fmt.Errorf("measure %v on %s: %w", what, c.info.Name, err)
	}
	return result, nil
}

func (c *Card) bench(what BenchCase) (BenchResult, error) {
	var seed [8]byte
	if _, err := rand.Read(seed[:]); err != nil {
		return BenchResult{}, err
	}
	in := cBenchCase{
		kind: uint32(what.Kind), curve: uint32(what.Curve), group: uint32(what.Group), logSize: uint32(what.Log), tables: uint32(what.Tables),
		sparse: uint32(what.Sparse), repetitions: uint32(what.Repetitions), seed: binary.LittleEndian.Uint64(seed[:]),
	}
	var out cBenchResult
	var e cError
	if err := e.err(c.lib.bench(c.handle, &in, &out, &e)); err != nil {
		return BenchResult{}, err
	}
	if err := what.check(&out); err != nil {
		return BenchResult{}, err
	}
	milliseconds := func(ms float32) time.Duration { return time.Duration(float64(ms) * float64(time.Millisecond)) }
	return BenchResult{
		Least: milliseconds(out.least), Median: milliseconds(out.median), Greatest: milliseconds(out.greatest),
		Operations: out.operations, Bits: int(out.bits), Tables: int(out.tables),
	}, nil
}

// check compares what a measurement made with what it should have.
func (c BenchCase) check(out *cBenchResult) error {
	expected := out.expected[:]
	if c.Kind == BenchMSM || c.Kind == BenchAdditions {
		expected = make([]byte, c.Curve.PointSize(c.Group))
		if err := groth16.Multiples(c.Curve, c.Group, out.expected[:], expected); err != nil {
			return err
		}
	}
	if !bytes.Equal(out.found[:len(expected)], expected) {
		return fmt.Errorf("%w: its result is wrong: found %x, expected %x", ErrFault, out.found[:len(expected)], expected)
	}
	return nil
}

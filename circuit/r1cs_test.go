package circuit

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

func openR1CS(t testing.TB, data []byte) *R1CS {
	t.Helper()
	r, err := OpenR1CS(store(t, "x.r1cs", data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// values are the witness words of a .wtns.
func values(t testing.TB, wtns []byte) []byte {
	return takeApart(t, wtns).section(wtnsValues).payload
}

func TestR1CSHeader(t *testing.T) {
	for _, c := range []struct {
		name                       string
		wires, public, constraints int
	}{
		{"mul", 4, 1, 1}, {"lin", 4, 1, 1}, {"allpub", 4, 3, 1}, {"nopub", 3, 0, 1}, {"nopub2", 23, 0, 20}, {"ord", 6, 4, 2},
	} {
		r := openR1CS(t, edge(t, c.name+".r1cs"))
		if r.Curve != groth16.BN254 || r.Wires != c.wires || r.Public != c.public || r.Constraints != c.constraints {
			t.Errorf("%s: found %+v", c.name, r)
		}
	}
}

func TestSatisfied(t *testing.T) {
	for _, name := range []string{"mul", "lin", "allpub", "nopub", "nopub2"} {
		r := openR1CS(t, edge(t, name+".r1cs"))
		if err := r.Check(context.Background(), values(t, edge(t, name+".wtns"))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, curve := range []string{"bn128", "bls12381"} {
		for _, name := range []string{"multiplier", "merkle", "commit"} {
			r := openR1CS(t, example(t, name, curve, "circuit.r1cs"))
			if err := r.Check(context.Background(), values(t, example(t, name, curve, "witness.wtns"))); err != nil {
				t.Errorf("%s on %s: %v", name, curve, err)
			}
		}
	}
}

// The constraint that is named is the first one of all that fail, also where a later one is found sooner.
func TestFirstUnsatisfiedConstraint(t *testing.T) {
	r := openR1CS(t, edge(t, "nopub2.r1cs"))
	witness := values(t, edge(t, "nopub2.wtns"))
	for wire := 1; wire < r.Wires; wire++ {
		broken := append([]byte(nil), witness...)
		broken[wire*groth16.ScalarSize] ^= 1
		want := -1
		_ = r.batches(context.Background(), func(b batch) bool {
			return b.each(func(c constraint) error {
				for _, terms := range c.terms {
					for ; len(terms) > 0 && want < 0; terms = terms[termSize:] {
						if binary.LittleEndian.Uint32(terms) == uint32(wire) {
							want = c.index
						}
					}
				}
				return nil
			}) == nil
		})
		var unsatisfied *UnsatisfiedError
		if err := r.Check(context.Background(), broken); !errors.As(err, &unsatisfied) || unsatisfied.Constraint != want {
			t.Errorf("wire %d changed: found %v, expected constraint %d", wire, err, want)
		}
	}
}

// Constraints that lie across the borders of batches are put together again.
func TestLongConstraints(t *testing.T) {
	f := takeApart(t, edge(t, "mul.r1cs"))
	const constraints, terms = 700, 60 // 13 MB
	var body []byte
	one := make([]byte, groth16.ScalarSize)
	one[0] = 1
	for i := range constraints {
		for k := range 3 {
			n := []int{terms + i, 1, terms + i}[k]
			body = binary.LittleEndian.AppendUint32(body, uint32(n))
			for range n {
				body = append(binary.LittleEndian.AppendUint32(body, 0), one...)
			}
		}
	}
	// The last but one is wrong: n * 1 = n-1.
	f.section(r1csConstraints).payload = body
	f.put32(r1csHeader, 60, constraints)
	r := openR1CS(t, f.bytes())
	witness := values(t, edge(t, "mul.wtns"))
	if err := r.Check(context.Background(), witness); err != nil {
		t.Error(err)
	}
	f.section(r1csConstraints).payload[len(body)-groth16.ScalarSize] = 2
	r = openR1CS(t, f.bytes())
	wantError(t, r.Check(context.Background(), witness), "the witness does not satisfy constraint 699")

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Check(ctx, witness); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: found %v", err)
	}
}

func TestMalformedR1CS(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *binaryFile)
		want  string
	}{
		{"magic", func(f *binaryFile) { f.magic = "zkey" }, `x.r1cs: at byte 0: found magic "zkey", expected "r1cs"`},
		{"version", func(f *binaryFile) { f.version = 2 }, `x.r1cs: at byte 4: found version 2, expected at most 1`},
		{"no constraints", func(f *binaryFile) { f.remove(2) }, `x.r1cs: section 2 at byte 132: found no such section, expected the constraints`},
		{"header twice", func(f *binaryFile) { f.sections = append(f.sections, f.section(1)) }, `x.r1cs: section 1 at byte 264: found the section a second time, expected each section once`},
		{"prime of 8 bytes", func(f *binaryFile) { f.put32(1, 0, 8) }, `x.r1cs: section 1 at byte 156: found a prime of 8 bytes, expected 32`},
		{"another prime", func(f *binaryFile) { f.section(1).payload[4] ^= 2 }, `x.r1cs: section 1 at byte 160: found an unknown prime, expected that of bn128 or bls12381`},
		{"no wires", func(f *binaryFile) { f.put32(1, 36, 0) }, `x.r1cs: section 1 at byte 192: found 0 wires, expected at least 4: the constant one, outputs and inputs`},
		{"inputs beyond the wires", func(f *binaryFile) { f.put32(1, 48, 0xffffffff) }, `x.r1cs: section 1 at byte 192: found 4 wires, expected at least 4294967297: the constant one, outputs and inputs`},
		{"labels", func(f *binaryFile) { f.put32(1, 36, 5) }, `x.r1cs: section 3 at byte 232: found 32 bytes, expected 40: labels of 5 wires`},
		{"4 billion constraints", func(f *binaryFile) { f.put32(1, 60, 0xffffffff) }, `x.r1cs: section 2 at byte 24: found 120 bytes, expected at least 51539607540: 4294967295 constraints`},
		{"one constraint too many", func(f *binaryFile) { f.put32(1, 60, 2) }, `x.r1cs: section 2 at byte 144: found the end of the section, expected constraint 1 of 2`},
		{"one constraint too few", func(f *binaryFile) { f.put32(1, 60, 0) }, `x.r1cs: section 2 at byte 24: found 120 bytes after the last of 0 constraints, expected the end of the section`},
		{"4 billion terms", func(f *binaryFile) { f.put32(2, 0, 0xffffffff) }, `x.r1cs: section 2 at byte 24: found 4294967295 terms in the 116 bytes left, expected at most 3`},
		{"wire", func(f *binaryFile) { f.put32(2, 4, 4) }, `x.r1cs: section 2 at byte 24: found wire 4 in constraint 0, expected less than 4`},
		{"coefficient", func(f *binaryFile) {
			copy(f.section(2).payload[8:], f.section(1).payload[4:36])
		}, `x.r1cs: section 2 at byte 24: found a coefficient not below the modulus in constraint 0, expected a reduced one`},
		{"short", func(f *binaryFile) { s := f.section(2); s.payload = s.payload[:len(s.payload)-1] }, `x.r1cs: section 2 at byte 104: found 1 terms in the 35 bytes left, expected at most 0`},
		{"long", func(f *binaryFile) { s := f.section(2); s.payload = append(s.payload, 0) }, `x.r1cs: section 2 at byte 144: found 1 bytes after the last of 1 constraints, expected the end of the section`},
		{"custom gates", func(f *binaryFile) {
			f.sections = append(f.sections, &binarySection{4, []byte{1, 0, 0, 0, 'x', 0}})
		}, `x.r1cs: section 4 at byte 276: found custom gates, expected none: Groth16 does not know them`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := takeApart(t, edge(t, "mul.r1cs"))
			c.spoil(f)
			r, err := OpenR1CS(store(t, "x.r1cs", f.bytes()))
			if err == nil {
				err = r.Check(context.Background(), make([]byte, r.Wires*groth16.ScalarSize))
				r.Close()
			}
			wantError(t, err, c.want)
		})
	}
}

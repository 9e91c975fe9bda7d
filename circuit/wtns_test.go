package circuit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/pinion-zk/pinion/groth16"
)

func decode(data []byte, want Shape) ([]byte, error) {
	dst := make([]byte, want.Vars*groth16.ScalarSize)
	return dst, DecodeWtns(dst, bytes.NewReader(data), int64(len(data)), want)
}

func TestDecodeWtns(t *testing.T) {
	for _, c := range []struct {
		data  []byte
		shape Shape
	}{
		{edge(t, "mul.wtns"), Shape{groth16.BN254, 4}},
		{edge(t, "nopub2.wtns"), Shape{groth16.BN254, 23}},
		{example(t, "multiplier", "bls12381", "witness.wtns"), Shape{groth16.BLS12381, len(values(t, example(t, "multiplier", "bls12381", "witness.wtns"))) / 32}},
	} {
		got, err := decode(c.data, c.shape)
		if err != nil || !bytes.Equal(got, values(t, c.data)) {
			t.Errorf("%v: %v", c.shape, err)
		}
		var again bytes.Buffer
		if err := EncodeWtns(&again, c.shape.Curve, got); err != nil || !bytes.Equal(again.Bytes(), c.data) {
			t.Errorf("%v: encoded to something else, %v", c.shape, err)
		}
		if int64(again.Len()) != WtnsSize(c.shape.Vars) {
			t.Errorf("%v: %d bytes, WtnsSize says %d", c.shape, again.Len(), WtnsSize(c.shape.Vars))
		}
		// Sections in another order, one that nobody knows, and a reader that delivers a byte at a time.
		f := takeApart(t, c.data)
		f.sections = append(f.sections, &binarySection{77, []byte("more")})
		slices.Reverse(f.sections)
		data := f.bytes()
		err = DecodeWtns(got, iotest.OneByteReader(bytes.NewReader(data)), int64(len(data)), c.shape)
		if err != nil || !bytes.Equal(got, values(t, c.data)) {
			t.Errorf("%v in another order: %v", c.shape, err)
		}
	}
}

func TestMalformedWtns(t *testing.T) {
	words := func(f *binaryFile) []byte { return f.section(wtnsValues).payload }
	for _, c := range []struct {
		name  string
		spoil func(f *binaryFile)
		want  string
	}{
		{"a key", func(f *binaryFile) { f.magic = "zkey" }, `witness: at byte 0: found magic "zkey", expected "wtns"`},
		{"version", func(f *binaryFile) { f.version = 3 }, `witness: at byte 4: found version 3, expected at most 2`},
		{"another curve", func(f *binaryFile) {
			*f = *takeApart(t, example(t, "multiplier", "bls12381", "witness.wtns"))
		}, `witness: section 1 at byte 28: found the prime of bls12381, expected the prime of bn128`},
		{"unknown prime", func(f *binaryFile) { f.section(1).payload[4] ^= 2 }, `witness: section 1 at byte 28: found an unknown prime, expected the prime of bn128`},
		{"prime of 48 bytes", func(f *binaryFile) { f.put32(1, 0, 48) }, `witness: section 1 at byte 24: found a prime of 48 bytes, expected 32`},
		{"header of BLS12-381's base field", func(f *binaryFile) { s := f.section(1); s.payload = append(s.payload, make([]byte, 16)...) }, `witness: section 1 at byte 24: found 56 bytes, expected 40: a prime of 32 bytes`},
		{"short by one value", func(f *binaryFile) { s := f.section(2); s.payload = s.payload[:96] }, `witness: section 2 at byte 76: found 96 bytes, expected 128: 4 values`},
		{"long by one value", func(f *binaryFile) { s := f.section(2); s.payload = append(s.payload, make([]byte, 32)...) }, `witness: section 2 at byte 76: found 160 bytes, expected 128: 4 values`},
		{"count", func(f *binaryFile) { f.put32(1, 36, 0xffffffff) }, `witness: section 1 at byte 60: found 4294967295 values, expected 4`},
		{"no values", func(f *binaryFile) { f.remove(2) }, `witness: section 2 at byte 64: found no such section, expected sections 1 and 2`},
		{"no header", func(f *binaryFile) { f.remove(1) }, `witness: section 1 at byte 152: found no such section, expected sections 1 and 2`},
		{"values twice", func(f *binaryFile) { f.sections = append(f.sections, f.section(2)) }, `witness: section 2 at byte 204: found the section a second time, expected each section once`},
		{"value = r", func(f *binaryFile) { copy(words(f)[64:], f.section(1).payload[4:36]) }, `witness: section 2 at byte 140: found value 2 not below the modulus, expected a reduced value`},
		{"value ff..ff", func(f *binaryFile) { copy(words(f)[96:], bytes.Repeat([]byte{0xff}, 32)) }, `witness: section 2 at byte 172: found value 3 not below the modulus, expected a reduced value`},
		{"w[0] = 2", func(f *binaryFile) { words(f)[0] = 2 }, `witness: section 2 at byte 76: found another first value, expected the constant 1`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := takeApart(t, edge(t, "mul.wtns"))
			c.spoil(f)
			_, err := decode(f.bytes(), Shape{groth16.BN254, 4})
			wantError(t, err, c.want)
		})
	}
}

func TestMalformedWtnsFrame(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(b []byte) []byte
		want  string
	}{
		{"empty", func(b []byte) []byte { return nil }, `witness: at byte 0: found the end of the file, expected 12 more bytes`},
		{"cut in the header", func(b []byte) []byte { return b[:50] }, `witness: section 1 at byte 24: found 26 bytes up to the end of the file, expected 40`},
		{"cut in the values", func(b []byte) []byte { return b[:len(b)-33] }, `witness: section 2 at byte 76: found 95 bytes up to the end of the file, expected 128`},
		{"trailing bytes", func(b []byte) []byte { return append(b, 0, 0) }, `witness: at byte 204: found 2 bytes after the last section, expected the end of the file`},
		{"4 billion sections", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], 0xffffffff); return b }, `witness: at byte 8: found 4294967295 sections, expected at most 64`},
		{"length wraps", func(b []byte) []byte { binary.LittleEndian.PutUint64(b[16:], 0xfffffffffffffff0); return b }, `witness: section 1 at byte 24: found 180 bytes up to the end of the file, expected 18446744073709551600`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := decode(c.spoil(edge(t, "mul.wtns")), Shape{groth16.BN254, 4})
			wantError(t, err, c.want)
		})
	}
}

// C4: the lengths of both are told.
func TestC4WitnessOfAnotherCircuit(t *testing.T) {
	_, err := decode(edge(t, "nopub2.wtns"), Shape{groth16.BN254, 4})
	wantError(t, err, `witness: section 1 at byte 60: found 23 values, expected 4`)
	_, err = decode(edge(t, "mul.wtns"), Shape{groth16.BN254, 23})
	wantError(t, err, `witness: section 1 at byte 60: found 4 values, expected 23`)
}

// C15: the words of a witness without a header, which is what some calculators return.
func TestC15BareValues(t *testing.T) {
	data := edge(t, "mul.wtns")
	_, err := decode(data[len(data)-128:], Shape{groth16.BN254, 4})
	wantError(t, err, `witness: at byte 0: found magic "\x01\x00\x00\x00", expected "wtns" (this looks like 4 bare values without the header of a .wtns)`)
	_, err = decode(data[len(data)-128:len(data)-32], Shape{groth16.BN254, 4})
	wantError(t, err, `witness: at byte 0: found magic "\x01\x00\x00\x00", expected "wtns" (this looks like 3 bare values without the header of a .wtns)`)
}

// The size that was announced is what counts: a stream that ends early or goes on is an error, and so is one that fails at its end, as
// one whose digest is wrong does.
func TestWtnsStream(t *testing.T) {
	data := edge(t, "mul.wtns")
	dst := make([]byte, 128)
	shape, size := Shape{groth16.BN254, 4}, int64(len(data))
	broken := errors.New("digest mismatch")

	wantError(t, DecodeWtns(dst, bytes.NewReader(data[:100]), size, shape), `witness: section 2 at byte 100: found the end of the file, expected 104 more bytes`)
	wantError(t, DecodeWtns(dst, bytes.NewReader(append(data, 0)), size, shape), `witness: at byte 204: found more bytes, expected the end of the file`)
	err := DecodeWtns(dst, io.MultiReader(bytes.NewReader(data), iotest.ErrReader(broken)), size, shape)
	wantError(t, err, `reading the witness: digest mismatch`)
	if !errors.Is(err, broken) {
		t.Error("the reader's error is not wrapped")
	}
	wantError(t, DecodeWtns(dst[:96], bytes.NewReader(data), size, shape), `buffer of 96 bytes for a witness of 4 values`)
}

// No value of a witness is in an error.
func TestWtnsErrorsKeepSecrets(t *testing.T) {
	secret := strings.Repeat("\x11", 32)
	f := takeApart(t, edge(t, "mul.wtns"))
	copy(f.section(2).payload, secret)
	_, err := decode(f.bytes(), Shape{groth16.BN254, 4})
	if err == nil || strings.Contains(err.Error(), "1111") {
		t.Errorf("found %v", err)
	}
}

func FuzzDecodeWtns(f *testing.F) {
	f.Add(edge(f, "mul.wtns"))
	f.Add(edge(f, "nopub.wtns"))
	f.Add(example(f, "multiplier", "bls12381", "witness.wtns"))
	f.Fuzz(func(t *testing.T, data []byte) {
		words, err := decode(data, Shape{groth16.BN254, 4})
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := EncodeWtns(&again, groth16.BN254, words); err != nil {
			t.Fatal(err)
		}
		if _, err := decode(again.Bytes(), Shape{groth16.BN254, 4}); err != nil {
			t.Error(err)
		}
	})
}

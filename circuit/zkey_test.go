package circuit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	blsfp "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"

	"github.com/pinion-zk/pinion/groth16"
)

func openZkey(t testing.TB, data []byte) *Zkey {
	t.Helper()
	z, err := OpenZkey(store(t, "x.zkey", data))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

// checkZkey opens and checks a key.
func checkZkey(t testing.TB, data []byte) error {
	t.Helper()
	z, err := OpenZkey(store(t, "x.zkey", data))
	if err != nil {
		return err
	}
	defer z.Close()
	return z.Check(context.Background(), nil)
}

func TestZkeyHeader(t *testing.T) {
	for _, c := range []struct {
		name                          string
		vars, public, domain, entries int
	}{
		{"mul", 4, 1, 4, 4}, {"lin", 4, 1, 4, 2}, {"allpub", 4, 3, 8, 6}, {"nopub", 3, 0, 2, 3}, {"nopub2", 23, 0, 32, 41},
	} {
		data := edge(t, c.name+".zkey")
		z := openZkey(t, data)
		if z.Curve != groth16.BN254 || z.Vars != c.vars || z.Public != c.public || z.Domain != c.domain || z.Entries != c.entries {
			t.Errorf("%s: found %+v", c.name, z)
		}
		if d, err := z.Digest(context.Background(), nil); err != nil || d != sha256.Sum256(data) {
			t.Errorf("%s: digest %v, %v", c.name, d, err)
		}
	}
	for _, curve := range []string{"bn128", "bls12381"} {
		z := openZkey(t, example(t, "commit", curve, "circuit.zkey"))
		if z.Curve.String() != curve || z.Public != 64 || z.Forgeable() || z.Contributions == 0 {
			t.Errorf("commit on %s: found %+v", curve, z)
		}
	}
}

func TestCheckTakesGoodKeys(t *testing.T) {
	for _, name := range []string{"mul", "lin", "allpub", "nopub", "nopub2"} {
		if err := checkZkey(t, edge(t, name+".zkey")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, curve := range []string{"bn128", "bls12381"} {
		var stages []string
		z := openZkey(t, example(t, "multiplier", curve, "circuit.zkey"))
		err := z.Check(context.Background(), func(stage string, done, total int64) {
			if done == total {
				stages = append(stages, stage)
			}
		})
		if err != nil || !slices.Equal(stages, []string{"points", "matrices"}) {
			t.Errorf("%s: stages %v, %v", curve, stages, err)
		}
	}
}

// A key without contributions.
func TestForgeableKey(t *testing.T) {
	for _, curve := range []string{"bn128", "bls12381"} {
		z := openZkey(t, example(t, "multiplier", curve, "forgeable.zkey"))
		if !z.Forgeable() || z.Contributions != 0 {
			t.Errorf("%s: forgeable %v, %d contributions", curve, z.Forgeable(), z.Contributions)
		}
	}
}

// Sections come in any order, and matrix entries too.
func TestAnyOrder(t *testing.T) {
	f := takeApart(t, edge(t, "nopub2.zkey"))
	slices.Reverse(f.sections)
	body := f.section(zkeyCoefficients).payload[4:]
	var entries [][]byte
	for e := range slices.Chunk(body, coefficientSize) {
		entries = append(entries, bytes.Clone(e))
	}
	slices.Reverse(entries)
	copy(body, bytes.Join(entries, nil))
	if err := checkZkey(t, f.bytes()); err != nil {
		t.Error(err)
	}
}

func TestMissingContributionsSection(t *testing.T) {
	f := takeApart(t, edge(t, "mul.zkey"))
	f.remove(zkeyContributions)
	if err := checkZkey(t, f.bytes()); err != nil {
		t.Error(err)
	}
}

// The header of mul.zkey has its counts from byte 72 on, then the points.
const bnCounts = 72

func TestMalformedZkey(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(f *binaryFile)
		want  string
	}{
		{"a witness", func(f *binaryFile) { f.magic = "wtns" }, `x.zkey: at byte 0: found magic "wtns", expected "zkey"`},
		{"version", func(f *binaryFile) { f.version = 3 }, `x.zkey: at byte 4: found version 3, expected at most 2`},
		{"version 0", func(f *binaryFile) { f.version = 0 }, `x.zkey: at byte 4: found version 0, expected at most 2`},
		{"plonk", func(f *binaryFile) { f.put32(1, 0, 2) }, `x.zkey: section 1 at byte 24: found a plonk key, expected a groth16 key`},
		{"fflonk", func(f *binaryFile) { f.put32(1, 0, 10) }, `x.zkey: section 1 at byte 24: found a fflonk key, expected a groth16 key`},
		{"protocol", func(f *binaryFile) { f.put32(1, 0, 77) }, `x.zkey: section 1 at byte 24: found protocol 77, expected 1: groth16`},
		{"protocol of 8 bytes", func(f *binaryFile) { s := f.section(1); s.payload = append(s.payload, 0, 0, 0, 0) }, `x.zkey: section 1 at byte 24: found 8 bytes, expected 4: the protocol`},
		{"no header", func(f *binaryFile) { f.remove(2) }, `x.zkey: section 2 at byte 2303: found no such section, expected the Groth16 header`},
		{"no H", func(f *binaryFile) { f.remove(9) }, `x.zkey: section 9 at byte 2707: found no such section, expected 4 points H`},
		{"no coefficients", func(f *binaryFile) { f.remove(4) }, `x.zkey: section 4 at byte 2783: found no such section, expected the matrices`},
		{"A twice", func(f *binaryFile) { f.sections = append(f.sections, f.section(5)) }, `x.zkey: section 5 at byte 2975: found the section a second time, expected each section once`},
		{"n8", func(f *binaryFile) { f.put32(2, 0, 48) }, `x.zkey: section 2 at byte 40: found unknown primes, expected those of bn128 or bls12381`},
		{"base prime", func(f *binaryFile) { f.section(2).payload[5] ^= 1 }, `x.zkey: section 2 at byte 40: found unknown primes, expected those of bn128 or bls12381`},
		{"scalar prime", func(f *binaryFile) { f.section(2).payload[41] ^= 1 }, `x.zkey: section 2 at byte 40: found unknown primes, expected those of bn128 or bls12381`},
		{"short header", func(f *binaryFile) { s := f.section(2); s.payload = s.payload[:80] }, `x.zkey: section 2 at byte 40: found 80 bytes, expected 660: the header of a bn128 key`},
		{"empty header", func(f *binaryFile) { f.section(2).payload = nil }, `x.zkey: section 2 at byte 40: found unknown primes, expected those of bn128 or bls12381`},
		{"no wires", func(f *binaryFile) { f.put32(2, bnCounts, 0) }, `x.zkey: section 2 at byte 112: found 0 wires, expected at least the constant one`},
		{"wires", func(f *binaryFile) { f.put32(2, bnCounts, 5) }, `x.zkey: section 5 at byte 1044: found 256 bytes, expected 320: 5 points A`},
		{"4 billion wires", func(f *binaryFile) { f.put32(2, bnCounts, 0xffffffff) }, `x.zkey: section 2 at byte 112: found 4294967295 wires, expected at most 268435456`},
		{"100000 public", func(f *binaryFile) { f.put32(2, bnCounts+4, 100000) }, `x.zkey: section 2 at byte 116: found 100000 public wires, expected fewer than the 4 wires`},
		{"public", func(f *binaryFile) { f.put32(2, bnCounts+4, 2) }, `x.zkey: section 3 at byte 712: found 128 bytes, expected 192: 3 points IC`},
		{"domain doubled", func(f *binaryFile) { f.put32(2, bnCounts+8, 8) }, `x.zkey: section 9 at byte 2244: found 256 bytes, expected 512: 8 points H`},
		{"domain 2049", func(f *binaryFile) { f.put32(2, bnCounts+8, 2049) }, `x.zkey: section 2 at byte 120: found a domain of 2049, expected a power of two from 2 to 268435456`},
		{"domain 2^30", func(f *binaryFile) { f.put32(2, bnCounts+8, 1<<30) }, `x.zkey: section 2 at byte 120: found a domain of 1073741824, expected a power of two from 2 to 268435456`},
		{"domain 0", func(f *binaryFile) { f.put32(2, bnCounts+8, 0) }, `x.zkey: section 2 at byte 120: found a domain of 0, expected a power of two from 2 to 268435456`},
		{"domain and H doubled", func(f *binaryFile) {
			f.put32(2, bnCounts+8, 8)
			h := f.section(9)
			h.payload = append(h.payload, h.payload...)
		}, `x.zkey: section 4 at byte 852: found 3 rows in a domain of 8, expected a domain of 4`},
		{"alpha1", func(f *binaryFile) { f.section(2).payload[84] ^= 1 }, `x.zkey: section 2 at byte 124: found alpha1: not on the curve, expected a point of G1, not the infinity`},
		{"gamma2 infinity", func(f *binaryFile) { clear(f.section(2).payload[84+256:][:128]) }, `x.zkey: section 2 at byte 380: found gamma2: the infinity, expected a point of G2, not the infinity`},
		{"IC infinity", func(f *binaryFile) { clear(f.section(3).payload[64:128]) }, `x.zkey: section 3 at byte 776: found point 1 of IC: the infinity, expected a point of G1, not the infinity`},
		{"A off the curve", func(f *binaryFile) { f.section(5).payload[64*2] ^= 1 }, `x.zkey: section 5 at byte 1172: found point 2 of A: not on the curve, expected a point of G1`},
		{"B2 off the curve", func(f *binaryFile) { f.section(7).payload[len(f.section(7).payload)-1] ^= 1 }, `x.zkey: section 7 at byte 1964: found point 3 of B2: not on the curve, expected a point of G2`},
		{"H zero", func(f *binaryFile) { clear(f.section(9).payload) }, `x.zkey: section 9 at byte 2244: found point 0 of H: the infinity, expected a point of G1, not the infinity`},
		{"4 billion coefficients", func(f *binaryFile) { f.put32(4, 0, 0xffffffff) }, `x.zkey: section 4 at byte 852: found 4294967295 coefficients in 180 bytes, expected 188978560984 bytes`},
		{"one coefficient too many", func(f *binaryFile) { f.put32(4, 0, 5) }, `x.zkey: section 4 at byte 852: found 5 coefficients in 180 bytes, expected 224 bytes`},
		{"coefficients empty", func(f *binaryFile) { f.section(4).payload = nil }, `x.zkey: section 4 at byte 852: found 0 bytes, expected at least 4`},
		{"no entries", func(f *binaryFile) { f.section(4).payload = make([]byte, 4) }, `x.zkey: section 4 at byte 852: found 0 rows, expected at least one for each of the 1 public wires and the constant`},
		{"matrix 7", func(f *binaryFile) { f.put32(4, 4, 7) }, `x.zkey: section 4 at byte 856: found matrix 7, expected 0 or 1`},
		{"row 0x7ffffff0", func(f *binaryFile) { f.put32(4, 8, 0x7ffffff0) }, `x.zkey: section 4 at byte 860: found row 2147483632, expected less than 4`},
		{"row 4", func(f *binaryFile) { f.put32(4, 8, 4) }, `x.zkey: section 4 at byte 860: found row 4, expected less than 4`},
		{"wire 0x7fffffff", func(f *binaryFile) { f.put32(4, 12, 0x7fffffff) }, `x.zkey: section 4 at byte 864: found wire 2147483647, expected less than 4`},
		{"coefficient = r", func(f *binaryFile) { copy(f.section(4).payload[16:], f.section(2).payload[40:72]) }, `x.zkey: section 4 at byte 868: found a coefficient not below the modulus, expected a reduced one`},
		{"entry in a public row", func(f *binaryFile) { f.put32(4, 8, 2) }, `x.zkey: section 4 at byte 856: found another entry in row 2, expected only 1 on public wire 1 in A`},
		{"no public row", func(f *binaryFile) {
			s := f.section(4)
			last := bytes.Clone(s.payload[len(s.payload)-coefficientSize:])
			s.payload = s.payload[:len(s.payload)-2*coefficientSize]
			s.payload = append(s.payload, last...)
			binary.LittleEndian.PutUint32(s.payload, 3)
		}, `x.zkey: section 4 at byte 852: found row 1 empty, expected 1 on public wire 0 in A`},
		{"cut contributions", func(f *binaryFile) { s := f.section(10); s.payload = s.payload[:len(s.payload)-1] }, `x.zkey: section 10 at byte 2974: found the end of the section, expected 3 bytes of parameters of contribution 1`},
		{"long contributions", func(f *binaryFile) { s := f.section(10); s.payload = append(s.payload, 1) }, `x.zkey: section 10 at byte 2975: found 1 bytes after the last contribution, expected the end of the section`},
		{"4 billion contributions", func(f *binaryFile) { f.put32(10, 64, 0xffffffff) }, `x.zkey: section 10 at byte 2576: found 4294967295 contributions in 463 bytes, expected at least 1683627179708 bytes`},
		{"empty contributions", func(f *binaryFile) { f.section(10).payload = nil }, `x.zkey: section 10 at byte 2512: found the end of the section, expected the circuit's hash and the number of contributions`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := takeApart(t, edge(t, "mul.zkey"))
			c.spoil(f)
			wantError(t, checkZkey(t, f.bytes()), c.want)
		})
	}
}

func TestMalformedFrame(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(b []byte) []byte
		want  string
	}{
		{"empty", func(b []byte) []byte { return nil }, `x.zkey: at byte 0: found the end of the file, expected 12 more bytes`},
		{"magic only", func(b []byte) []byte { return b[:4] }, `x.zkey: at byte 4: found the end of the file, expected 8 more bytes`},
		{"4 billion sections", func(b []byte) []byte { binary.LittleEndian.PutUint32(b[8:], 0xffffffff); return b }, `x.zkey: at byte 8: found 4294967295 sections, expected at most 64`},
		{"one section more", func(b []byte) []byte { b[8]++; return b }, `x.zkey: at byte 2975: found the end of the file, expected 12 more bytes`},
		{"one section fewer", func(b []byte) []byte { b[8]--; return b }, `x.zkey: at byte 2500: found 475 bytes after the last section, expected the end of the file`},
		{"length wraps", func(b []byte) []byte { binary.LittleEndian.PutUint64(b[16:], 0xfffffffffffffff0); return b }, `x.zkey: section 1 at byte 24: found 2951 bytes up to the end of the file, expected 18446744073709551600`},
		{"length of 4 GiB", func(b []byte) []byte { binary.LittleEndian.PutUint64(b[16:], 0xffffffff); return b }, `x.zkey: section 1 at byte 24: found 2951 bytes up to the end of the file, expected 4294967295`},
		{"cut in the last section", func(b []byte) []byte { return b[:len(b)-10] }, `x.zkey: section 10 at byte 2512: found 453 bytes up to the end of the file, expected 463`},
		{"cut in a section's head", func(b []byte) []byte { return b[:20] }, `x.zkey: at byte 20: found the end of the file, expected 4 more bytes`},
		{"trailing bytes", func(b []byte) []byte { return append(b, 1, 2, 3) }, `x.zkey: at byte 2975: found 3 bytes after the last section, expected the end of the file`},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantError(t, checkZkey(t, c.spoil(edge(t, "mul.zkey"))), c.want)
		})
	}
}

// A point of BLS12-381's curve outside the subgroup: adding it to a key would let proofs be twisted.
func TestPointOutsideSubgroup(t *testing.T) {
	var x, y, four blsfp.Element
	four.SetUint64(4)
	for x.SetUint64(1); ; {
		var rhs blsfp.Element
		rhs.Square(&x).Mul(&rhs, &x).Add(&rhs, &four)
		if y.Sqrt(&rhs) != nil {
			break
		}
		one := blsfp.One()
		x.Add(&x, &one)
	}
	f := takeApart(t, example(t, "multiplier", "bls12381", "circuit.zkey"))
	point := f.section(zkeyB1).payload[96:192]
	for i := range x {
		binary.LittleEndian.PutUint64(point[8*i:], x[i])
		binary.LittleEndian.PutUint64(point[48+8*i:], y[i])
	}
	err := checkZkey(t, f.bytes())
	var fault *FormatError
	if !errors.As(err, &fault) || fault.Section != zkeyB1 || !strings.Contains(fault.Found, "point 1 of B1") {
		t.Errorf("found %v", err)
	}
}

// P8: a key that was cut anywhere, or has any byte changed, is found out, or has another digest.
func TestP8DamagedZkey(t *testing.T) {
	whole := edge(t, "mul.zkey")
	for n := 0; n < len(whole); n += 7 {
		z, err := OpenZkey(store(t, "x.zkey", whole[:n]))
		var fault *FormatError
		if !errors.As(err, &fault) || fault.File != "x.zkey" {
			t.Fatalf("cut at %d: found %v, %v", n, z, err)
		}
	}
	f := takeApart(t, whole)
	checked := len(whole) - len(f.section(zkeyContributions).payload) // the record of the set-up is not used
	for at := 0; at < checked; at += 13 {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x10
		var fault *FormatError
		if err := checkZkey(t, broken); !errors.As(err, &fault) {
			if z := openZkey(t, broken); at > 24 && err == nil {
				d, _ := z.Digest(context.Background(), nil)
				if d == sha256.Sum256(whole) {
					t.Errorf("byte %d changed: same digest", at)
				}
				continue
			}
			t.Errorf("byte %d changed: found %v", at, err)
		}
	}
}

// C11: offsets over 4 GiB. The file is sparse: H comes early and is 4 GiB of nothing, and IC lies behind it.
func TestC11SectionOver4GiB(t *testing.T) {
	f := takeApart(t, edge(t, "mul.zkey"))
	const domain = 1 << 26
	f.put32(zkeyHeader, bnCounts+8, domain)
	ic := f.section(zkeyIC)
	f.remove(zkeyIC)
	f.remove(zkeyH)
	head := f.bytes()
	binary.LittleEndian.PutUint32(head[8:], uint32(len(f.sections)+2))
	head = binary.LittleEndian.AppendUint32(head, zkeyH)
	head = binary.LittleEndian.AppendUint64(head, domain*64)
	tail := binary.LittleEndian.AppendUint32(nil, zkeyIC)
	tail = binary.LittleEndian.AppendUint64(tail, uint64(len(ic.payload)))
	tail = append(tail, ic.payload...)

	path := store(t, "big.zkey", head)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(tail, int64(len(head))+domain*64); err != nil {
		t.Skip("no sparse files here:", err)
	}
	z, err := OpenZkey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if z.Domain != domain || z.file.sections[zkeyIC].offset < 1<<32 {
		t.Errorf("domain %d, IC at %d", z.Domain, z.file.sections[zkeyIC].offset)
	}
	if _, err := z.VerifyingKey(); err != nil {
		t.Error(err)
	}
	wantError(t, z.Check(context.Background(), nil), `big.zkey: section 9 at byte 2579: found point 0 of H: the infinity, expected a point of G1, not the infinity`)

	if err := file.Truncate(int64(len(head)) + 1<<32 - 1<<20); err != nil {
		t.Fatal(err)
	}
	_, err = OpenZkey(path)
	wantError(t, err, `big.zkey: section 9 at byte 2579: found 4293918720 bytes up to the end of the file, expected 4294967296`)
}

// C17: whatever length a file tells, memory stays flat.
func TestC17NoMemoryForLies(t *testing.T) {
	prepared, err := os.ReadFile(prepare(t, edge(t, "mul.zkey")))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{
		"x.zkey": edge(t, "mul.zkey"), "x.r1cs": edge(t, "mul.r1cs"), "x.wtns": edge(t, "mul.wtns"), "x.wasm": newFake().build(), "x.pinion": prepared,
	}
	for name, whole := range files {
		for at := 8; at+5 <= min(len(whole), 400); at++ {
			lie := bytes.Clone(whole)
			binary.LittleEndian.PutUint32(lie[at:], 0xffffffff)
			switch filepath.Ext(name) {
			case ".wasm":
				lie[at+4] = 0x0f // the end of an integer in LEB128
			case ".pinion":
				binary.LittleEndian.PutUint32(lie[pageBytes-4:], crc32.Checksum(lie[:pageBytes-4], castagnoli))
			}
			path := store(t, name, lie)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_ = readAnything(path, lie)
			runtime.ReadMemStats(&after)
			if n := after.TotalAlloc - before.TotalAlloc; n > 4<<20 {
				t.Errorf("%s: ff ff ff ff at %d: %d bytes allocated", name, at, n)
			}
		}
	}
}

// readAnything reads a file in full, as what its name says.
func readAnything(path string, data []byte) error {
	switch filepath.Ext(path) {
	case ".zkey":
		z, err := OpenZkey(path)
		if err != nil {
			return err
		}
		defer z.Close()
		return z.Check(context.Background(), nil)
	case ".wasm":
		c, err := NewCalculator(context.Background(), data, CalculatorOptions{})
		if err != nil {
			return err
		}
		return c.Close(context.Background())
	case ".pinion":
		p, err := OpenPrepared(path)
		if err != nil {
			return err
		}
		defer p.Close()
		return p.Verify(context.Background(), nil)
	case ".r1cs":
		r, err := OpenR1CS(path)
		if err != nil {
			return err
		}
		defer r.Close()
		if r.Wires > 1<<16 {
			return nil // a caller has a witness of that length, or none
		}
		return r.Check(context.Background(), make([]byte, r.Wires*groth16.ScalarSize))
	}
	want := Shape{groth16.BN254, 4}
	return DecodeWtns(make([]byte, want.Vars*groth16.ScalarSize), bytes.NewReader(data), int64(len(data)), want)
}

func FuzzZkey(f *testing.F) {
	for _, name := range []string{"mul", "allpub", "nopub"} {
		f.Add(edge(f, name+".zkey"))
	}
	f.Add(edge(f, "mul.wtns"))
	f.Fuzz(func(t *testing.T, data []byte) {
		path := store(t, "x.zkey", data)
		checkErr := readAnything(path, data)
		z, err := OpenZkey(path)
		if err != nil {
			return
		}
		defer z.Close()
		err = Prepare(context.Background(), z, path+".prepared", nil)
		if (err == nil) != (checkErr == nil) {
			t.Errorf("Check: %v, Prepare: %v", checkErr, err)
		}
	})
}

func FuzzR1CS(f *testing.F) {
	for _, name := range []string{"mul", "allpub", "nopub2"} {
		f.Add(edge(f, name+".r1cs"))
	}
	f.Fuzz(func(t *testing.T, data []byte) { _ = readAnything(store(t, "x.r1cs", data), data) })
}

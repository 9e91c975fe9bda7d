package circuit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// prepare returns the path of a prepared file.
func prepare(t testing.TB, zkey []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "key.pinion")
	if err := Prepare(context.Background(), openZkey(t, zkey), path, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func openPrepared(t testing.TB, path string) *Prepared {
	t.Helper()
	p, err := OpenPrepared(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func content(t testing.TB, s groth16.Section) []byte {
	t.Helper()
	b, err := s.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What is prepared is what the key has: the points byte by byte, and the matrices as the r1cs has them.
func TestPreparedHoldsTheKey(t *testing.T) {
	type pair struct{ zkey, r1cs []byte }
	circuits := map[string]pair{}
	for _, name := range []string{"mul", "lin", "allpub", "nopub", "nopub2"} {
		circuits[name] = pair{edge(t, name+".zkey"), edge(t, name+".r1cs")}
	}
	for _, curve := range []string{"bn128", "bls12381"} {
		for _, name := range []string{"multiplier", "commit"} {
			circuits[name+" on "+curve] = pair{example(t, name, curve, "circuit.zkey"), example(t, name, curve, "circuit.r1cs")}
		}
	}
	for name, c := range circuits {
		t.Run(name, func(t *testing.T) {
			z, f := openZkey(t, c.zkey), takeApart(t, c.zkey)
			p := openPrepared(t, prepare(t, c.zkey))
			pk := p.ProvingKey()
			if pk.Curve != z.Curve || pk.Vars != z.Vars || pk.Public != z.Public || pk.Domain != z.Domain || pk.Entries != z.Entries {
				t.Errorf("found %+v, expected %+v", pk, z)
			}
			for kind, s := range map[uint32]groth16.Section{
				zkeyA: pk.PointsA, zkeyB1: pk.PointsB1, zkeyB2: pk.PointsB2, zkeyC: pk.PointsC, zkeyH: pk.PointsH,
			} {
				if !bytes.Equal(content(t, s), f.section(kind).payload) {
					t.Errorf("the points of section %d differ", kind)
				}
			}
			single := slices.Concat(pk.Alpha1, pk.Beta1, pk.Beta2, pk.Delta1, pk.Delta2)
			if want := slices.Concat(z.single.alpha1, z.single.beta1, z.single.beta2, z.single.delta1, z.single.delta2); !bytes.Equal(single, want) {
				t.Error("the single points differ")
			}
			if d, _ := z.Digest(context.Background(), nil); p.Digest() != d {
				t.Error("another digest")
			}
			if err := openR1CS(t, c.r1cs).matches(context.Background(), pk, nil); err != nil {
				t.Error(err)
			}
			f64 := fieldOf(pk.Curve)
			coefficients := content(t, pk.Coefficients)
			one, minus := elementOf(coefficients), elementOf(coefficients[groth16.ScalarSize:])
			var sum, product element
			f64.add(&sum, &one, &minus)
			f64.mul(&product, &one, &one)
			if sum != (element{}) || product != one || one == (element{}) {
				t.Error("the first two coefficients are not 1 and -1")
			}
			if err := p.Verify(context.Background(), nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// The entries of a key may be in any order: rows are put together.
func TestPrepareSortsEntries(t *testing.T) {
	f := takeApart(t, example(t, "commit", "bn128", "circuit.zkey"))
	body := f.section(zkeyCoefficients).payload[4:]
	var entries [][]byte
	for e := range slices.Chunk(bytes.Clone(body), coefficientSize) {
		entries = append(entries, e)
	}
	slices.Reverse(entries)
	copy(body, bytes.Join(entries, nil))
	p := openPrepared(t, prepare(t, f.bytes()))
	if err := openR1CS(t, example(t, "commit", "bn128", "circuit.r1cs")).matches(context.Background(), p.ProvingKey(), nil); err != nil {
		t.Error(err)
	}
}

// An r1cs of another circuit is told from the key's, also when only one coefficient differs.
func TestR1CSOfAnotherCircuit(t *testing.T) {
	pk := openPrepared(t, prepare(t, edge(t, "nopub2.zkey"))).ProvingKey()
	for _, c := range []struct {
		name  string
		spoil func(f *binaryFile)
		want  string
	}{
		{"another circuit", func(f *binaryFile) { *f = *takeApart(t, edge(t, "mul.r1cs")) }, `x.r1cs: section 1 at byte 192: found 4 wires, expected 23 as in the key`},
		{"another curve", func(f *binaryFile) { *f = *takeApart(t, example(t, "multiplier", "bls12381", "circuit.r1cs")) }, `x.r1cs: section 1 at byte 160: found the prime of bls12381, expected the prime of bn128 as in the key`},
		{"public wires", func(f *binaryFile) { f.put32(1, 40, 1) }, `x.r1cs: section 1 at byte 2476: found 1 public wires, expected 0 as in the key`},
		{"a constraint fewer", func(f *binaryFile) {
			s := f.section(2)
			f.put32(1, 60, 19)
			s.payload = s.payload[:len(s.payload)/20*19]
		}, `x.r1cs: section 1 at byte 2376: found 19 constraints, expected 20 as in the key`},
		{"a coefficient of A", func(f *binaryFile) { f.section(2).payload[8+3] ^= 0x10 }, `x.r1cs: section 2 at byte 24: found constraint 0 with another A, expected that of the key`},
		{"a wire of B", func(f *binaryFile) { f.put32(2, 40+4, 0) }, `x.r1cs: section 2 at byte 24: found constraint 0 with another B, expected that of the key`},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := takeApart(t, edge(t, "nopub2.r1cs"))
			c.spoil(f)
			wantError(t, openR1CS(t, f.bytes()).matches(context.Background(), pk, nil), c.want)
		})
	}
}

// Whole by its checksums, but with indices that are out of range: written so, on a machine with bad memory say.
func TestBadMatrixOfPreparedFile(t *testing.T) {
	path := prepare(t, edge(t, "nopub2.zkey"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	good := openPrepared(t, path)
	for place, want := range map[part]string{
		partStartsA: `row 0 of the key's matrix has the entries 0 to 4294967280 of 21`,
		partValuesA: `row 1 of the key's matrix has coefficient 4294967280 of 2`,
	} {
		b, l, h := bytes.Clone(whole), good.layout, good.header
		binary.LittleEndian.PutUint32(b[l.parts[place].lo+4:], 0xfffffff0)
		sums := b[l.checksums.lo:l.checksums.hi]
		binary.LittleEndian.PutUint32(sums, crc32.Checksum(b[l.data.lo:l.data.hi], castagnoli))
		h.checksums = crc32.Checksum(sums, castagnoli)
		copy(b, h.encode())
		p := openPrepared(t, store(t, "key.pinion", b))
		wantError(t, openR1CS(t, edge(t, "nopub2.r1cs")).matches(context.Background(), p.ProvingKey(), nil), want)
	}
}

// P8: a prepared file that was cut anywhere is refused when it is opened, and one with any byte changed at the latest when the
// byte's chunk is touched. The error names the file and the place.
func TestP8DamagedPreparedFile(t *testing.T) {
	path := prepare(t, example(t, "commit", "bn128", "circuit.zkey"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(filepath.Base(filepath.Dir(path)), "key.pinion")
	load := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		p, err := OpenPrepared(path)
		if err != nil {
			return err
		}
		defer p.Close()
		return p.Verify(context.Background(), nil)
	}
	if err := load(whole); err != nil {
		t.Fatal(err)
	}
	for n := 0; n < len(whole); n += 1 + len(whole)/50 {
		var fault *FormatError
		if err := load(whole[:n]); !errors.As(err, &fault) || fault.File != name || fault.Offset != int64(n) {
			t.Errorf("cut at %d: found %v", n, err)
		}
	}
	for at := 0; at < len(whole); at += 1 + len(whole)/50 {
		broken := bytes.Clone(whole)
		broken[at] ^= 0x40
		var fault *FormatError
		if err := load(broken); !errors.As(err, &fault) || fault.File != name || fault.Offset > int64(at) || int64(at) >= fault.Offset+chunkBytes {
			t.Errorf("byte %d changed: found %v", at, err)
		}
	}
	var fault *FormatError
	if err := load(append(whole, 0)); !errors.As(err, &fault) {
		t.Errorf("a byte more: found %v", err)
	}
}

func TestPreparedHeaderErrors(t *testing.T) {
	path := prepare(t, edge(t, "mul.zkey"))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		spoil func(b []byte)
		want  string
	}{
		{"another file", func(b []byte) { copy(b, "zkey") }, `x/key.pinion: at byte 0: found magic "zkeyonPK", expected "pinionPK"`},
		{"a later version", func(b []byte) { b[8] = 2 }, `x/key.pinion: at byte 8: found version 2, expected 1 (add the circuit again)`},
		{"curve", func(b []byte) { b[12] = 9 }, `x/key.pinion: at byte 12: found curve(9), expected bn128 or bls12381`},
		{"public wires", func(b []byte) { b[24] = 200 }, `x/key.pinion: at byte 16: found counts that contradict each other, expected those of a circuit`},
		{"a huge count", func(b []byte) { b[16+7] = 1 }, `x/key.pinion: at byte 16: found a count of 72057594037927940, expected at most 2^32`},
		{"another size", func(b []byte) { b[17] = 1 }, `x/key.pinion: at byte 65536: found a file of 65536 bytes, expected 147456 (the file is damaged: add the circuit again)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bytes.Clone(whole)
			c.spoil(b)
			binary.LittleEndian.PutUint32(b[pageBytes-4:], crc32.Checksum(b[:pageBytes-4], castagnoli))
			if err := os.WriteFile(path, b, 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := OpenPrepared(path)
			dir := filepath.Base(filepath.Dir(path))
			if err != nil {
				err = errors.New(strings.ReplaceAll(err.Error(), dir, "x"))
			}
			wantError(t, err, c.want)
		})
	}
}

// A file that is cut short while it is open gives errors; the process lives. So does one that is cut between the look at its size
// and the reading of a page.
func TestPreparedFileCutWhileOpen(t *testing.T) {
	path := prepare(t, example(t, "commit", "bn128", "circuit.zkey"))
	p := openPrepared(t, path)
	if err := os.Truncate(path, 2*pageBytes); err != nil {
		t.Fatal(err)
	}
	var fault *FormatError
	if _, err := p.ProvingKey().PointsH.Bytes(); !errors.As(err, &fault) || fault.Offset != 2*pageBytes {
		t.Errorf("found %v", err)
	}
	for chunk := range p.sums {
		if err := p.verify(int64(chunk)); !errors.Is(err, errMappingFault) {
			t.Errorf("chunk %d: found %v", chunk, err)
		}
	}
}

// P6: a removed file stays readable while it is mapped, a missing one is told by name.
func TestP6PreparedFileRemovedWhileOpen(t *testing.T) {
	path := prepare(t, edge(t, "mul.zkey"))
	p := openPrepared(t, path)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := p.Verify(context.Background(), nil); err != nil {
		t.Error(err)
	}
	if _, err := OpenPrepared(path); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), path) {
		t.Errorf("found %v", err)
	}
}

func TestTouchFromManyGoroutines(t *testing.T) {
	p := openPrepared(t, prepare(t, example(t, "merkle", "bn128", "circuit.zkey")))
	pk := p.ProvingKey()
	var wg sync.WaitGroup
	for range 8 {
		for _, s := range []groth16.Section{pk.PointsA, pk.PointsB2, pk.PointsH, pk.A.Columns, pk.Coefficients} {
			wg.Go(func() {
				if _, err := s.Bytes(); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
}

// A cancelled or failed preparation leaves nothing behind.
func TestPrepareLeavesNothing(t *testing.T) {
	z := openZkey(t, example(t, "commit", "bn128", "circuit.zkey"))
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	err := Prepare(ctx, z, filepath.Join(dir, "key.pinion"), func(stage string, _, _ int64) {
		if stage == "points" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("found %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := Prepare(context.Background(), z, filepath.Join(dir, "none", "key.pinion"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("found %v", err)
	}
}

// A key that is written to while it is read is noticed.
func TestPrepareNoticesChange(t *testing.T) {
	path := store(t, "x.zkey", edge(t, "mul.zkey"))
	z, err := OpenZkey(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	err = Prepare(context.Background(), z, path+".prepared", func(stage string, _, _ int64) {
		if stage == "matrices" {
			_ = os.WriteFile(path, append(edge(t, "mul.zkey"), 0), 0o644)
		}
	})
	wantError(t, err, `x.zkey changed while it was being read`)
}

func TestNoRoomOnDisk(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "x"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var at *os.PathError
	if err := allocate(f, 1<<60); !errors.As(err, &at) || at.Path != f.Name() {
		t.Errorf("found %v", err)
	}
}

func FuzzPreparedHeader(f *testing.F) {
	page, err := os.ReadFile(prepare(f, edge(f, "mul.zkey")))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(page[:200])
	f.Fuzz(func(t *testing.T, data []byte) {
		b := make([]byte, pageBytes)
		copy(b, data)
		binary.LittleEndian.PutUint32(b[pageBytes-4:], crc32.Checksum(b[:pageBytes-4], castagnoli))
		var h preparedHeader
		if h.decode("x", b) != nil {
			return
		}
		l := h.layout()
		at := l.data.lo
		for _, e := range l.parts {
			if e.lo != at || e.hi < e.lo {
				t.Fatalf("%+v: part at %+v, expected it to start at %d", h, e, at)
			}
			at = toPage(e.hi)
		}
		if at != l.data.hi {
			t.Fatalf("%+v: ends at %d, expected %d", h, at, l.data.hi)
		}
	})
}

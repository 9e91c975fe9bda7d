package circuit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/pinion-zk/pinion/groth16"
)

// A prepared file is what a prover needs of a circuit, laid out to be mapped. Numbers are little-endian; everything starts on a page:
//
//	page 0          header: magic[8] | u32 version | u32 curve | u64 vars, public, domain, rows, entries of A, entries of B,
//	                coefficients, contributions | sha256 of the zkey | u32 CRC-32C of the checksums | zeros | u32 CRC-32C of the header
//	page 1 and up   checksums: u32 CRC-32C of each MiB after them
//	then            the parts, in the order of the constants below; their sizes follow from the counts
//
// So the header is small and complete, and every byte of the file is under a checksum.
const (
	preparedMagic   = "pinionPK"
	preparedVersion = 1
	pageBytes       = 4096
	chunkBytes      = 1 << 20
)

// part is a section of a prepared file.
type part int

const (
	partSingle part = iota // alpha1, beta1, delta1 in G1, beta2, delta2, gamma2 in G2
	partIC
	partA
	partB1
	partB2
	partC
	partH
	partStartsA // see groth16.Matrix
	partColumnsA
	partValuesA
	partStartsB
	partColumnsB
	partValuesB
	partCoefficients
	parts // how many there are
)

// placeOf says in which part the points of a zkey's section are.
var placeOf = map[uint32]part{zkeyIC: partIC, zkeyA: partA, zkeyB1: partB1, zkeyB2: partB2, zkeyC: partC, zkeyH: partH}

// preparedHeader are the counts that fix the layout, and what is known of the key.
type preparedHeader struct {
	curve                      groth16.Curve
	vars, public, domain, rows int
	entries                    [2]int // of A and B
	coefficients               int
	contributions              int
	digest                     Digest
	checksums                  uint32 // CRC-32C of the checksums
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (h *preparedHeader) encode() []byte {
	b := append(make([]byte, 0, pageBytes), preparedMagic...)
	b = binary.LittleEndian.AppendUint32(b, preparedVersion)
	b = binary.LittleEndian.AppendUint32(b, uint32(h.curve))
	for _, n := range h.counts() {
		b = binary.LittleEndian.AppendUint64(b, uint64(*n))
	}
	b = append(b, h.digest[:]...)
	b = binary.LittleEndian.AppendUint32(b, h.checksums)
	b = b[:pageBytes-4]
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func (h *preparedHeader) counts() [8]*int {
	return [8]*int{&h.vars, &h.public, &h.domain, &h.rows, &h.entries[0], &h.entries[1], &h.coefficients, &h.contributions}
}

// decode reads a header page. Errors are *FormatError.
func (h *preparedHeader) decode(file string, b []byte) error {
	fault := func(offset int64, found, expected string) error {
		return &FormatError{File: file, Offset: offset, Found: found, Expected: expected}
	}
	if !bytes.HasPrefix(b, []byte(preparedMagic)) {
		return fault(0, fmt.Sprintf("magic %q", b[:8]), fmt.Sprintf("%q", preparedMagic))
	}
	if v := binary.LittleEndian.Uint32(b[8:]); v != preparedVersion {
		return fault(8, fmt.Sprintf("version %d", v), fmt.Sprintf("%d (add the circuit again)", preparedVersion))
	}
	sum, want := crc32.Checksum(b[:pageBytes-4], castagnoli), binary.LittleEndian.Uint32(b[pageBytes-4:])
	if sum != want {
		return fault(0, fmt.Sprintf("a header of checksum %08x", sum), fmt.Sprintf("%08x", want))
	}
	h.curve = groth16.Curve(binary.LittleEndian.Uint32(b[12:]))
	if h.curve != groth16.BN254 && h.curve != groth16.BLS12381 {
		return fault(12, h.curve.String(), "bn128 or bls12381")
	}
	at := 16
	for _, n := range h.counts() {
		v := binary.LittleEndian.Uint64(b[at:])
		if v > 1<<32 { // so that no size below overflows
			return fault(int64(at), fmt.Sprintf("a count of %d", v), "at most 2^32")
		}
		*n = int(v)
		at += 8
	}
	if h.vars <= h.public || h.rows <= h.public || h.rows > h.domain || h.coefficients < 2 {
		return fault(16, "counts that contradict each other", "those of a circuit")
	}
	h.digest = Digest(b[at : at+len(h.digest)])
	h.checksums = binary.LittleEndian.Uint32(b[at+len(h.digest):])
	return nil
}

// extent is a range of bytes of a file.
type extent struct{ lo, hi int64 }

func (e extent) len() int64 { return e.hi - e.lo }

// layout says where everything lies in a prepared file.
type layout struct {
	checksums extent // to the end of its last page
	parts     [parts]extent
	data      extent // all parts, what the checksums are of
}

func (h *preparedHeader) layout() layout {
	g1, g2 := int64(h.curve.G1Size()), int64(h.curve.G2Size())
	vars, public, rows := int64(h.vars), int64(h.public), int64(h.rows)
	sizes := [parts]int64{
		partSingle: 3*g1 + 3*g2,
		partIC:     (public + 1) * g1,
		partA:      vars * g1, partB1: vars * g1, partB2: vars * g2,
		partC:       (vars - public - 1) * g1,
		partH:       int64(h.domain) * g1,
		partStartsA: (rows + 1) * 4, partColumnsA: int64(h.entries[0]) * 4, partValuesA: int64(h.entries[0]) * 4,
		partStartsB: (rows + 1) * 4, partColumnsB: int64(h.entries[1]) * 4, partValuesB: int64(h.entries[1]) * 4,
		partCoefficients: int64(h.coefficients) * groth16.ScalarSize,
	}
	var total int64
	for _, size := range sizes {
		total += toPage(size)
	}
	var l layout
	l.checksums = extent{pageBytes, pageBytes + toPage(4*chunks(total))}
	at := l.checksums.hi
	l.data = extent{at, at + total}
	for i, size := range sizes {
		l.parts[i] = extent{at, at + size}
		at += toPage(size)
	}
	return l
}

func toPage(n int64) int64 { return (n + pageBytes - 1) / pageBytes * pageBytes }

func chunks(n int64) int64 { return (n + chunkBytes - 1) / chunkBytes }

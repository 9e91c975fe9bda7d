package circuit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/pinion-zk/pinion/groth16"
)

// Sections of a Groth16 zkey. Points are affine, little-endian Montgomery, all zero at infinity.
const (
	zkeyProtocol      = 1  // u32: 1 is Groth16
	zkeyHeader        = 2  // primes, counts and the single points
	zkeyIC            = 3  // Public+1 of G1
	zkeyCoefficients  = 4  // u32 n, n x {u32 matrix | u32 row | u32 signal | value times R squared}
	zkeyA             = 5  // Vars of G1
	zkeyB1            = 6  // Vars of G1
	zkeyB2            = 7  // Vars of G2
	zkeyC             = 8  // Vars-Public-1 of G1
	zkeyH             = 9  // Domain of G1
	zkeyContributions = 10 // circuit hash[64] | u32 n | contributions of the set-up
)

const (
	coefficientSize = 12 + groth16.ScalarSize
	maxDomain       = 1 << 28 // the 2-adicity of BN254; a prover takes as many wires
)

// Zkey is an open Groth16 key file of snarkjs whose header was checked: sizes of all sections fit the counts. Its content is
// checked by Check and Prepare. It is safe for concurrent use.
type Zkey struct {
	Curve         groth16.Curve
	Vars          int // wires, the constant one among them
	Public        int // public wires without the constant one
	Domain        int // a power of two
	Entries       int // non-zero entries of the matrices A and B
	Contributions int // to the second phase of the set-up; 0 also if the file doesn't tell

	file   *container
	single singlePoints
}

// singlePoints are the points of the header, as they are there.
type singlePoints struct{ alpha1, beta1, beta2, gamma2, delta1, delta2 []byte }

// OpenZkey reads and checks the header and the size of each section. What is wrong with the file is a *FormatError.
func OpenZkey(path string) (*Zkey, error) {
	c, err := openContainer(path, "zkey", 2)
	if err != nil {
		return nil, err
	}
	z := &Zkey{file: c}
	for _, step := range []func() error{z.readProtocol, z.readHeader, z.checkSizes, z.readContributions} {
		if err := step(); err != nil {
			return nil, errors.Join(err, c.file.Close())
		}
	}
	return z, nil
}

// Close closes the file.
func (z *Zkey) Close() error { return z.file.file.Close() }

// Forgeable tells that the set-up's second phase had no contribution (gamma = delta): anyone can forge proofs.
func (z *Zkey) Forgeable() bool { return bytes.Equal(z.single.gamma2, z.single.delta2) }

func (z *Zkey) readProtocol() error {
	s, err := z.file.findSized(zkeyProtocol, 4, "the protocol")
	if err != nil {
		return err
	}
	var word [4]byte
	if err := z.file.read(word[:], s.offset); err != nil {
		return err
	}
	switch id := binary.LittleEndian.Uint32(word[:]); id {
	case 1:
		return nil
	case 2:
		return z.file.fault(s, s.offset, "a plonk key", "a groth16 key")
	case 10:
		return z.file.fault(s, s.offset, "a fflonk key", "a groth16 key")
	default:
		return z.file.fault(s, s.offset, fmt.Sprintf("protocol %d", id), "1: groth16")
	}
}

func (z *Zkey) readHeader() error {
	s, err := z.file.find(zkeyHeader, "the Groth16 header")
	if err != nil {
		return err
	}
	h := make([]byte, min(s.size, zkeyHeaderSize(groth16.BLS12381)))
	if err := z.file.read(h, s.offset); err != nil {
		return err
	}
	for _, c := range []groth16.Curve{groth16.BN254, groth16.BLS12381} {
		if primes := zkeyPrimes(c); bytes.HasPrefix(h, primes) {
			return z.readCounts(c, s, h, len(primes))
		}
	}
	return z.file.fault(s, s.offset, "unknown primes", "those of bn128 or bls12381")
}

// zkeyPrimes is how the header of a curve's keys begins: u32 n8q | q | u32 n8r | r.
func zkeyPrimes(c groth16.Curve) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(c.BaseSize()))
	b = append(b, littleEndian(c.BaseModulus(), c.BaseSize())...)
	b = binary.LittleEndian.AppendUint32(b, groth16.ScalarSize)
	return append(b, littleEndian(c.ScalarModulus(), groth16.ScalarSize)...)
}

func zkeyHeaderSize(c groth16.Curve) int64 {
	return int64(len(zkeyPrimes(c)) + 3*4 + 3*c.G1Size() + 3*c.G2Size())
}

// readCounts reads what comes after the primes, at byte at of the header h.
func (z *Zkey) readCounts(c groth16.Curve, s span, h []byte, at int) error {
	g1, g2 := c.G1Size(), c.G2Size()
	if want := zkeyHeaderSize(c); s.size != want {
		return z.file.fault(s, s.offset, fmt.Sprintf("%d bytes", s.size), fmt.Sprintf("%d: the header of a %s key", want, c))
	}
	z.Curve = c
	z.Vars = int(binary.LittleEndian.Uint32(h[at:]))
	z.Public = int(binary.LittleEndian.Uint32(h[at+4:]))
	z.Domain = int(binary.LittleEndian.Uint32(h[at+8:]))
	offset := s.offset + int64(at)
	switch {
	case z.Vars == 0:
		return z.file.fault(s, offset, "0 wires", "at least the constant one")
	case z.Vars > maxDomain:
		return z.file.fault(s, offset, fmt.Sprintf("%d wires", z.Vars), fmt.Sprintf("at most %d", maxDomain))
	case z.Public >= z.Vars:
		return z.file.fault(s, offset+4, fmt.Sprintf("%d public wires", z.Public), fmt.Sprintf("fewer than the %d wires", z.Vars))
	case z.Domain < 2 || z.Domain > maxDomain || z.Domain&(z.Domain-1) != 0:
		return z.file.fault(s, offset+8, fmt.Sprintf("a domain of %d", z.Domain), fmt.Sprintf("a power of two from 2 to %d", maxDomain))
	}
	points := h[at+12:]
	cut := func(size int) []byte {
		p := points[:size:size]
		points = points[size:]
		return p
	}
	z.single = singlePoints{alpha1: cut(g1), beta1: cut(g1), beta2: cut(g2), gamma2: cut(g2), delta1: cut(g1), delta2: cut(g2)}
	return nil
}

// pointSection is a section of points.
type pointSection struct {
	kind     uint32
	what     string
	group    int // 1 or 2
	count    int
	infinity bool // some points are the infinity in honest keys: wires that a matrix does not use
}

func (z *Zkey) pointSections() []pointSection { return pointSections(z.Vars, z.Public, z.Domain) }

func pointSections(vars, public, domain int) []pointSection {
	return []pointSection{
		{zkeyIC, "IC", 1, public + 1, false},
		{zkeyA, "A", 1, vars, true},
		{zkeyB1, "B1", 1, vars, true},
		{zkeyB2, "B2", 2, vars, true},
		{zkeyC, "C", 1, vars - public - 1, true},
		{zkeyH, "H", 1, domain, false},
	}
}

func (p pointSection) pointSize(c groth16.Curve) int {
	if p.group == 2 {
		return c.G2Size()
	}
	return c.G1Size()
}

func (z *Zkey) checkSizes() error {
	for _, p := range z.pointSections() {
		what := fmt.Sprintf("%d points %s", p.count, p.what)
		if _, err := z.file.findSized(p.kind, int64(p.count)*int64(p.pointSize(z.Curve)), what); err != nil {
			return err
		}
	}
	s, err := z.file.find(zkeyCoefficients, "the matrices")
	if err != nil {
		return err
	}
	var word [4]byte
	if s.size < int64(len(word)) {
		return z.file.fault(s, s.offset, fmt.Sprintf("%d bytes", s.size), "at least 4")
	}
	if err := z.file.read(word[:], s.offset); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(word[:])
	if want := 4 + coefficientSize*int64(n); s.size != want {
		return z.file.fault(s, s.offset, fmt.Sprintf("%d coefficients in %d bytes", n, s.size), fmt.Sprintf("%d bytes", want))
	}
	z.Entries = int(n)
	return nil
}

// readContributions walks section 10, whose contributions are of different lengths: delta, three points of proof of knowledge
// (two in G1, one in G2), transcript[64] | u32 type | u32 length | parameters. Nothing but their number is used, so a key that other tools wrote without
// the section is fine; whether the key is forgeable is seen from its points. Broken, the section tells of a cut file.
func (z *Zkey) readContributions() error {
	s, ok := z.file.sections[zkeyContributions]
	if !ok {
		return nil
	}
	const head = 64 + 4
	short := func(at int64, expected string) error {
		return z.file.fault(s, at, "the end of the section", expected)
	}
	if s.size < head {
		return short(s.offset+s.size, "the circuit's hash and the number of contributions")
	}
	var word [4]byte
	if err := z.file.read(word[:], s.offset+64); err != nil {
		return err
	}
	n := binary.LittleEndian.Uint32(word[:])
	fixed := int64(3*z.Curve.G1Size() + z.Curve.G2Size() + 64 + 4 + 4)
	at, end := s.offset+head, s.offset+s.size
	if int64(n)*fixed > end-at {
		return z.file.fault(s, s.offset+64, fmt.Sprintf("%d contributions in %d bytes", n, s.size), fmt.Sprintf("at least %d bytes", head+int64(n)*fixed))
	}
	for i := range n {
		if end-at < fixed {
			return short(end, fmt.Sprintf("contribution %d of %d", i+1, n))
		}
		if err := z.file.read(word[:], at+fixed-4); err != nil {
			return err
		}
		at += fixed
		params := int64(binary.LittleEndian.Uint32(word[:]))
		if params > end-at {
			return short(end, fmt.Sprintf("%d bytes of parameters of contribution %d", params, i+1))
		}
		at += params
	}
	if at != end {
		return z.file.fault(s, at, fmt.Sprintf("%d bytes after the last contribution", end-at), "the end of the section")
	}
	z.Contributions = int(n)
	return nil
}

// Digest is the sha256 of the whole file. It reads all of it; the stage is "digest", the unit bytes.
func (z *Zkey) Digest(ctx context.Context, progress Progress) (Digest, error) {
	h, buf := sha256.New(), make([]byte, 1<<20)
	src := io.NewSectionReader(z.file.file, 0, z.file.size)
	for done := int64(0); done < z.file.size; {
		if err := ctx.Err(); err != nil {
			return Digest{}, err
		}
		n, err := io.ReadFull(src, buf[:min(int64(len(buf)), z.file.size-done)])
		if err != nil {
			return Digest{}, fmt.Errorf("%s: reading at byte %d: %w", z.file.name, done+int64(n), err)
		}
		h.Write(buf[:n])
		done += int64(n)
		progress.report("digest", done, z.file.size)
	}
	return Digest(h.Sum(nil)), z.file.unchanged()
}

// VerifyingKey makes the verifying key of the file's points, which it checks.
func (z *Zkey) VerifyingKey() (*groth16.VerifyingKey, error) {
	s := z.file.sections[zkeyIC]
	ic := make([]byte, s.size)
	if err := z.file.read(ic, s.offset); err != nil {
		return nil, err
	}
	p := z.single
	vk, err := groth16.NewVerifyingKey(z.Curve, slices.Clone(p.alpha1), slices.Clone(p.beta2), slices.Clone(p.gamma2), slices.Clone(p.delta2), ic)
	if err != nil {
		return nil, fmt.Errorf("%s: verifying key: %w", z.file.name, err)
	}
	return vk, nil
}

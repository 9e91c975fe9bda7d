package circuit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/pinion-zk/pinion/groth16"
)

// Prepared is a mapped prepared file. Opening it reads the header and the checksums only; a Section of its ProvingKey checks a
// chunk of the file when it is first touched. It is safe for concurrent use.
//
// Each touch looks at the file's size first, and a page that cannot be read while it is being checked is an error, so a file that was
// cut short does not end the process (SIGBUS). A file that is cut in the moment between the touch and the use of the bytes still does:
// prepared files are never written to in place, and a removed one stays readable while it is mapped.
type Prepared struct {
	name     string // for errors
	file     *os.File
	mapped   []byte
	header   preparedHeader
	layout   layout
	sums     []uint32        // checksum of each chunk
	verified []atomic.Uint64 // a bit for each chunk
	key      groth16.ProvingKey
	vk       *groth16.VerifyingKey
}

// OpenPrepared maps the file that Prepare wrote. A damaged header or size is a *FormatError.
func OpenPrepared(path string) (*Prepared, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	p := &Prepared{name: filepath.Join(filepath.Base(filepath.Dir(path)), filepath.Base(path)), file: f}
	for _, step := range []func() error{p.readHeader, p.readChecksums, p.mapParts, p.makeKeys} {
		if err := step(); err != nil {
			return nil, errors.Join(err, p.Close())
		}
	}
	return p, nil
}

// Close unmaps the file: nobody may use the proving key any more.
func (p *Prepared) Close() error {
	var err error
	if p.mapped != nil {
		err = syscall.Munmap(p.mapped)
		p.mapped = nil
	}
	return errors.Join(err, p.file.Close())
}

// ProvingKey is a view of the mapping, valid until Close.
func (p *Prepared) ProvingKey() *groth16.ProvingKey { return &p.key }

// VerifyingKey belongs to the proving key, and outlives Close.
func (p *Prepared) VerifyingKey() *groth16.VerifyingKey { return p.vk }

// Digest is that of the zkey.
func (p *Prepared) Digest() Digest { return p.header.digest }

// Bytes is the number of bytes mapped: what the key may take of memory.
func (p *Prepared) Bytes() int64 { return int64(len(p.mapped)) }

// Verify checks all of the file now. The stage is "checksums", the unit bytes.
func (p *Prepared) Verify(ctx context.Context, progress Progress) error {
	const step = 64 * chunkBytes
	data := p.layout.data
	for lo := data.lo; lo < data.hi; lo += step {
		if err := ctx.Err(); err != nil {
			return err
		}
		hi := min(lo+step, data.hi)
		if err := p.touch(lo, hi); err != nil {
			return err
		}
		progress.report("checksums", hi-data.lo, data.len())
	}
	return nil
}

func (p *Prepared) readHeader() error {
	page := make([]byte, pageBytes)
	if n, err := p.file.ReadAt(page, 0); errors.Is(err, io.EOF) {
		return p.fault(int64(n), "the end of the file", fmt.Sprintf("%d more bytes of the header", pageBytes-n))
	} else if err != nil {
		return err
	}
	if err := p.header.decode(p.name, page); err != nil {
		return err
	}
	p.layout = p.header.layout()
	return p.whole()
}

// whole checks that the file has the size that its header tells.
func (p *Prepared) whole() error {
	stat, err := p.file.Stat()
	if err != nil {
		return err
	}
	if size := p.layout.data.hi; stat.Size() != size {
		return p.fault(min(stat.Size(), size), fmt.Sprintf("a file of %d bytes", stat.Size()), fmt.Sprint(size))
	}
	return nil
}

func (p *Prepared) readChecksums() error {
	e := p.layout.checksums
	raw := make([]byte, e.len())
	if _, err := p.file.ReadAt(raw, e.lo); err != nil {
		return fmt.Errorf("%s: reading the checksums: %w", p.name, err)
	}
	if sum := crc32.Checksum(raw, castagnoli); sum != p.header.checksums {
		return p.fault(e.lo, fmt.Sprintf("checksums of checksum %08x", sum), fmt.Sprintf("%08x", p.header.checksums))
	}
	p.sums = make([]uint32, chunks(p.layout.data.len()))
	for i := range p.sums {
		p.sums[i] = binary.LittleEndian.Uint32(raw[4*i:])
	}
	p.verified = make([]atomic.Uint64, (len(p.sums)+63)/64)
	return nil
}

func (p *Prepared) mapParts() (err error) {
	p.mapped, err = mapFile(p.file, p.layout.data.hi, false)
	return err
}

// section is a part as the prover sees it.
func (p *Prepared) section(i part) groth16.Section {
	e := p.layout.parts[i]
	return groth16.NewSection(p.mapped[e.lo:e.hi:e.hi], func(lo, hi int) error { return p.touch(e.lo+int64(lo), e.lo+int64(hi)) })
}

func (p *Prepared) makeKeys() error {
	single, err := p.section(partSingle).Bytes()
	if err != nil {
		return err
	}
	ic, err := p.section(partIC).Bytes()
	if err != nil {
		return err
	}
	h, g1, g2 := &p.header, p.header.curve.G1Size(), p.header.curve.G2Size()
	cut := func(size int) []byte {
		point := single[:size:size]
		single = single[size:]
		return point
	}
	p.key = groth16.ProvingKey{
		Curve: h.curve, Vars: h.vars, Public: h.public, Domain: h.domain, Rows: h.rows, Entries: h.entries[0] + h.entries[1],
		Alpha1: cut(g1), Beta1: cut(g1), Delta1: cut(g1), Beta2: cut(g2), Delta2: cut(g2),
		PointsA: p.section(partA), PointsB1: p.section(partB1), PointsB2: p.section(partB2),
		PointsC: p.section(partC), PointsH: p.section(partH),
		A:            groth16.Matrix{Starts: p.section(partStartsA), Columns: p.section(partColumnsA), Values: p.section(partValuesA)},
		B:            groth16.Matrix{Starts: p.section(partStartsB), Columns: p.section(partColumnsB), Values: p.section(partValuesB)},
		Coefficients: p.section(partCoefficients),
	}
	p.vk, err = groth16.NewVerifyingKey(h.curve, p.key.Alpha1, p.key.Beta2, cut(g2), p.key.Delta2, ic)
	if err != nil {
		return fmt.Errorf("%s: verifying key: %w", p.name, err)
	}
	return nil
}

// touch checks those chunks of the file's bytes [lo, hi) that were not checked before, on all cores.
func (p *Prepared) touch(lo, hi int64) error {
	if err := p.whole(); err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	first, last := (lo-p.layout.data.lo)/chunkBytes, (hi-1-p.layout.data.lo)/chunkBytes
	for chunk := first; chunk <= last; chunk++ {
		if p.verified[chunk/64].Load()&(1<<(chunk%64)) == 0 {
			g.Go(func() error { return p.verify(chunk) })
		}
	}
	return g.Wait()
}

func (p *Prepared) verify(chunk int64) error {
	lo := p.layout.data.lo + chunk*chunkBytes
	var sum uint32
	err := guardMapping(func() error {
		sum = crc32.Checksum(p.mapped[lo:min(lo+chunkBytes, p.layout.data.hi)], castagnoli)
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: at byte %d: %w", p.name, lo, err)
	}
	if sum != p.sums[chunk] {
		return p.fault(lo, fmt.Sprintf("a chunk of checksum %08x", sum), fmt.Sprintf("%08x", p.sums[chunk]))
	}
	p.verified[chunk/64].Or(1 << (chunk % 64))
	return nil
}

func (p *Prepared) fault(offset int64, found, expected string) error {
	return &FormatError{File: p.name, Offset: offset, Found: found, Expected: expected + " (the file is damaged: add the circuit again)"}
}

package circuit

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"os"
	"syscall"
)

// Prepare checks a key in full (see Zkey.Check) and writes what a prover needs of it to path, as a file that OpenPrepared maps. The
// file appears whole or not at all. Room on the disk is reserved first. Stages are "digest", "points", "matrices" and "checksums".
//
// Besides the mapped file, memory goes to the distinct coefficients: few in real circuits, at most a small multiple of the zkey's size.
func Prepare(ctx context.Context, z *Zkey, path string, progress Progress) error {
	digest, err := z.Digest(ctx, progress)
	if err != nil {
		return err
	}
	m, err := z.surveyMatrices(ctx, progress)
	if err != nil {
		return err
	}
	h := preparedHeader{
		curve: z.Curve, vars: z.Vars, public: z.Public, domain: z.Domain, rows: m.rows, entries: m.entries,
		coefficients: m.dictionary.len(), contributions: z.Contributions, digest: digest,
	}
	return writeAtomically(path, func(f *os.File) error {
		w, err := newPreparer(z, h, f)
		if err != nil {
			return err
		}
		err = guardMapping(func() error { return w.write(ctx, m, progress) })
		return errors.Join(err, syscall.Munmap(w.mapped))
	})
}

// preparer fills the mapping of a new prepared file.
type preparer struct {
	z      *Zkey
	header preparedHeader
	layout layout
	mapped []byte
}

func newPreparer(z *Zkey, h preparedHeader, f *os.File) (*preparer, error) {
	w := &preparer{z: z, header: h, layout: h.layout()}
	if err := allocate(f, w.layout.data.hi); err != nil {
		return nil, err
	}
	var err error
	w.mapped, err = mapFile(f, w.layout.data.hi, true)
	return w, err
}

func (w *preparer) part(p part) []byte {
	e := w.layout.parts[p]
	return w.mapped[e.lo:e.hi]
}

func (w *preparer) write(ctx context.Context, m *matrices, progress Progress) error {
	if err := w.points(ctx, progress); err != nil {
		return err
	}
	if err := w.matrices(ctx, m); err != nil {
		return err
	}
	if err := w.z.Curve.DecodeCoefficients(w.part(partCoefficients), m.dictionary.values); err != nil {
		return err
	}
	if err := w.z.file.unchanged(); err != nil {
		return err
	}
	return w.seal(ctx, progress)
}

func (w *preparer) points(ctx context.Context, progress Progress) error {
	single := w.part(partSingle)
	s := w.z.single
	for _, p := range [][]byte{s.alpha1, s.beta1, s.delta1, s.beta2, s.delta2, s.gamma2} {
		single = single[copy(single, p):]
	}
	return w.z.scanPoints(ctx, progress, func(p pointSection, offset, size int) []byte {
		return w.part(placeOf[p.kind])[offset : offset+size]
	})
}

// matrices makes compressed rows of the entries, in whatever order they are: a counting sort by row.
func (w *preparer) matrices(ctx context.Context, m *matrices) error {
	rows := [2]csr{
		{w.part(partStartsA), w.part(partColumnsA), w.part(partValuesA)},
		{w.part(partStartsB), w.part(partColumnsB), w.part(partValuesB)},
	}
	err := w.z.checkPublicRows(ctx, m.rows, func(c coefficient) { rows[c.matrix].count(c.row) })
	if err != nil {
		return err
	}
	rows[0].begin()
	rows[1].begin()
	err = w.z.visitCoefficients(ctx, m.rows, func(c coefficient) error {
		if !rows[c.matrix].place(c.row, c.signal, m.dictionary.add(c.value)) {
			return w.z.file.changed()
		}
		return nil
	})
	if err != nil {
		return err
	}
	rows[0].finish()
	rows[1].finish()
	return nil
}

// csr is a matrix in the making: see groth16.Matrix.
type csr struct{ starts, columns, values []byte }

func (m *csr) start(row uint32) []byte { return m.starts[4*row:] }

func (m *csr) count(row uint32) {
	s := m.start(row)
	binary.LittleEndian.PutUint32(s, binary.LittleEndian.Uint32(s)+1)
}

// begin turns the counts into where each row starts.
func (m *csr) begin() {
	var sum uint32
	for at := 0; at < len(m.starts); at += 4 {
		s := m.starts[at:]
		n := binary.LittleEndian.Uint32(s)
		binary.LittleEndian.PutUint32(s, sum)
		sum += n
	}
}

// place puts an entry into its row, whose start moves on by one. It refuses entries that were not counted.
func (m *csr) place(row, column, value uint32) bool {
	s := m.start(row)
	at := binary.LittleEndian.Uint32(s)
	if int64(at)*4 >= int64(len(m.columns)) {
		return false
	}
	binary.LittleEndian.PutUint32(m.columns[4*at:], column)
	binary.LittleEndian.PutUint32(m.values[4*at:], value)
	binary.LittleEndian.PutUint32(s, at+1)
	return true
}

// finish moves the starts back: each is now where the next row starts.
func (m *csr) finish() {
	copy(m.starts[4:], m.starts[:len(m.starts)-4])
	clear(m.starts[:4])
}

// seal writes checksums and header.
func (w *preparer) seal(ctx context.Context, progress Progress) error {
	data := w.mapped[w.layout.data.lo:w.layout.data.hi]
	sums := w.mapped[w.layout.checksums.lo:w.layout.checksums.hi]
	for at := 0; at < len(data); at += chunkBytes {
		if err := ctx.Err(); err != nil {
			return err
		}
		chunk := data[at:min(at+chunkBytes, len(data))]
		binary.LittleEndian.PutUint32(sums[at/chunkBytes*4:], crc32.Checksum(chunk, castagnoli))
		progress.report("checksums", int64(at+len(chunk)), int64(len(data)))
	}
	w.header.checksums = crc32.Checksum(sums, castagnoli)
	copy(w.mapped, w.header.encode())
	return nil
}

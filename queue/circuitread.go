package queue

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// OpenCircuitFile reads a file of a stored circuit, part by part. Length and
// digest are checked, of each part and of the whole: ErrCircuitDamaged comes
// instead of io.EOF, so nothing is to be used before. The reader is one
// goroutine's.
func (c *Client) OpenCircuitFile(ctx context.Context, r CircuitRecord, f CircuitFile) io.ReadCloser {
	return &circuitReader{ctx: ctx, circuits: c.circuits, record: r, file: f, sum: sha256.New()}
}

type circuitReader struct {
	ctx      context.Context
	circuits *objects
	record   CircuitRecord
	file     CircuitFile
	next     int64         // part to open
	part     io.ReadCloser // nil between two
	sum      hash.Hash
}

func (r *circuitReader) Read(p []byte) (int, error) {
	for {
		if r.part == nil {
			if r.next == r.file.parts() {
				return 0, r.finish()
			}
			object, size := r.file.part(r.record, r.next)
			part, err := r.circuits.openSized(r.ctx, object, size)
			if err != nil {
				return 0, damaged(err)
			}
			r.part = part
			r.next++
		}
		n, err := r.part.Read(p)
		r.sum.Write(p[:n])
		if err == io.EOF { //nolint:errorlint // as readers say it
			err = r.Close()
		}
		if n > 0 || err != nil {
			return n, damaged(err)
		}
	}
}

func (r *circuitReader) finish() error {
	if got := [32]byte(r.sum.Sum(nil)); got != r.file.SHA256 {
		return fmt.Errorf("%w: %s of %s: found sha256 %x, expected %x", ErrCircuitDamaged, r.file.Name, r.record.Ref(), got, r.file.SHA256)
	}
	return io.EOF
}

// Close ends the reading.
func (r *circuitReader) Close() error {
	if r.part == nil {
		return nil
	}
	err := r.part.Close()
	r.part = nil
	return err
}

// damaged says of a fault of an object, which is told in the words of
// witnesses, that it is one of a circuit.
func damaged(err error) error {
	if f, ok := errors.AsType[*Failure](err); ok {
		return fmt.Errorf("%w: %s", ErrCircuitDamaged, f.Msg)
	}
	return err
}

package queue

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
)

// objectReader reads an object's chunks.
type objectReader struct {
	ctx    context.Context
	o      *objects
	ref    *Object
	chunks *directReader
	rest   []byte // of the current chunk
	read   int64
	sum    hash.Hash
	err    error
}

func newObjectReader(ctx context.Context, o *objects, ref *Object, chunk string) (*objectReader, error) {
	chunks, err := newDirectReader(o.nc, o.stream(), chunk)
	if err != nil {
		return nil, fmt.Errorf("queue: read object %s: %w", ref.Name, err)
	}
	return &objectReader{ctx: ctx, o: o, ref: ref, chunks: chunks, sum: sha256.New()}, nil
}

func (r *objectReader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 && r.err == nil {
		r.err = r.advance()
	}
	if len(r.rest) == 0 {
		return 0, r.err
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close ends the reading; it may be called at any point, once Read isn't.
func (r *objectReader) Close() error {
	if r.err == nil {
		r.err = errors.New("queue: object is closed")
	}
	r.rest = nil
	return r.chunks.close()
}

// advance fetches the next chunk, or ends with io.EOF or what is wrong.
func (r *objectReader) advance() error {
	chunk, err := r.chunks.message(r.ctx)
	switch {
	case errors.Is(err, io.EOF):
		return r.finish()
	case r.ctx.Err() != nil:
		return context.Cause(r.ctx)
	case err != nil:
		return fmt.Errorf("queue: read object %s: after %d of %d bytes: %w", r.ref.Name, r.read, r.ref.Len, err)
	}
	r.read += int64(len(chunk.Data))
	if r.read > r.ref.Len {
		return &Failure{Code: CodeWitnessDigest, Msg: fmt.Sprintf("object %s: found more than the %d bytes expected", r.ref.Name, r.ref.Len)}
	}
	r.sum.Write(chunk.Data)
	r.rest = chunk.Data
	return nil
}

// short decides what follows when there are no more chunks: the replica that
// answers is behind, or the object was evicted or deleted. Nil: read on.
func (r *objectReader) short() error {
	behind, err := false, error(nil)
	if r.o.asksLeader() {
		behind, err = r.chunks.behind(r.ctx, r.o.js)
	}
	switch {
	case err != nil:
		return fmt.Errorf("queue: read object %s: after %d of %d bytes: %w", r.ref.Name, r.read, r.ref.Len, err)
	case behind:
		return nil
	}
	return &Failure{
		Code: CodeWitnessMissing, Retry: true,
		Msg: fmt.Sprintf("object %s: found %d of %d bytes", r.ref.Name, r.read, r.ref.Len),
	}
}

// finish checks the whole.
func (r *objectReader) finish() error {
	if r.read < r.ref.Len {
		return r.short()
	}
	if got := [32]byte(r.sum.Sum(nil)); got != r.ref.SHA256 {
		return &Failure{Code: CodeWitnessDigest, Msg: fmt.Sprintf("object %s: found sha256 %x, expected %x", r.ref.Name, got, r.ref.SHA256)}
	}
	return io.EOF
}

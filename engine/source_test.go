package engine

import (
	"bytes"
	"context"
	"io"
	"testing"
	"testing/iotest"

	"github.com/pinion-zk/pinion/groth16"
)

// brokenSource is a witness whose source fails.
type brokenSource struct {
	open, read, close error
	data              io.Reader
}

// from is a job of a multiplier with one witness, right but for what the source does.
func from(t *testing.T, s brokenSource) Request {
	t.Helper()
	good := product(t, groth16.BN254, 3, 5, 15)
	stream, err := good.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	open := func(context.Context) (io.ReadCloser, error) {
		s.data = bytes.NewReader(data)
		if s.read != nil {
			s.data = io.MultiReader(bytes.NewReader(data), iotest.ErrReader(s.read))
		}
		return s, s.open
	}
	return Request{Circuit: named("multiplier-bn128"), Witnesses: []Witness{{Size: good.Size, Open: open}}}
}

func (s brokenSource) Read(p []byte) (int, error) { return s.data.Read(p) }
func (s brokenSource) Close() error               { return s.close }

package circuit

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	circuits "github.com/pinion-zk/pinion/examples/circuits"
)

// binaryFile is an iden3 container taken apart, for tests to break.
type binaryFile struct {
	magic    string
	version  uint32
	sections []*binarySection
}

type binarySection struct {
	kind    uint32
	payload []byte
}

func takeApart(t testing.TB, data []byte) *binaryFile {
	t.Helper()
	f := &binaryFile{magic: string(data[:4]), version: binary.LittleEndian.Uint32(data[4:])}
	n := binary.LittleEndian.Uint32(data[8:])
	data = data[12:]
	for range n {
		size := binary.LittleEndian.Uint64(data[4:])
		f.sections = append(f.sections, &binarySection{binary.LittleEndian.Uint32(data), bytes.Clone(data[12 : 12+size])})
		data = data[12+size:]
	}
	return f
}

func (f *binaryFile) bytes() []byte {
	b := []byte(f.magic)
	b = binary.LittleEndian.AppendUint32(b, f.version)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.sections)))
	for _, s := range f.sections {
		b = binary.LittleEndian.AppendUint32(b, s.kind)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(s.payload)))
		b = append(b, s.payload...)
	}
	return b
}

func (f *binaryFile) section(kind uint32) *binarySection {
	for _, s := range f.sections {
		if s.kind == kind {
			return s
		}
	}
	panic("no such section")
}

func (f *binaryFile) remove(kind uint32) {
	for i, s := range f.sections {
		if s.kind == kind {
			f.sections = append(f.sections[:i:i], f.sections[i+1:]...)
			return
		}
	}
}

func (f *binaryFile) put32(kind uint32, at int, v uint32) {
	binary.LittleEndian.PutUint32(f.section(kind).payload[at:], v)
}

// edge returns a file of testdata/edge: circuits that other provers fail on.
func edge(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "edge", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// example returns a file of an example circuit.
func example(t testing.TB, name, curve, file string) []byte {
	t.Helper()
	data, err := circuits.File(name, curve, file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// store writes data to a file of that name in a new directory.
func store(t testing.TB, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// errorText is what t expects: "" for no error.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("error:\n got %s\nwant %s", got, want)
	}
}

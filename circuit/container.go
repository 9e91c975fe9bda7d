package circuit

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// maxSections is far above what any iden3 format has (fflonk keys: 17), and keeps a hostile count from costing memory.
const maxSections = 64

// container is the frame of all iden3 binaries, little-endian:
//
//	magic[4] | u32 version | u32 sections | sections x { u32 type | u64 length | payload }
//
// Sections come in any order, each type once. The container owns the file.
type container struct {
	name     string // for errors
	file     *os.File
	stat     os.FileInfo // as it was when the file was opened
	size     int64
	sections map[uint32]span
}

// span is where the payload of a section lies in its file.
type span struct {
	kind         uint32
	offset, size int64
}

func openContainer(path, magic string, newest uint32) (*container, error) {
	f, stat, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	c := &container{name: filepath.Base(path), file: f, stat: stat, size: stat.Size(), sections: map[uint32]span{}}
	if err := c.readFrame(magic, newest); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return c, nil
}

func (c *container) readFrame(magic string, newest uint32) error {
	var head [12]byte
	if err := c.read(head[:], 0); err != nil {
		return err
	}
	frame, err := parseFrame(c.name, head[:], magic, newest)
	if err != nil {
		return err
	}
	offset := int64(len(head))
	for range frame {
		s, err := c.readSection(offset)
		if err != nil {
			return err
		}
		c.sections[s.kind] = s
		offset = s.offset + s.size
	}
	if offset != c.size {
		return c.fault(span{}, offset, fmt.Sprintf("%d bytes after the last section", c.size-offset), "the end of the file")
	}
	return nil
}

// openRegular refuses what is no regular file: a device may have no end, and a pipe may never have a beginning.
func openRegular(path string) (*os.File, os.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or opening a pipe waits for its writer
	if err != nil {
		return nil, nil, err
	}
	stat, err := f.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = fmt.Errorf("%s: not a regular file", filepath.Base(path))
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, stat, nil
}

// parseFrame checks the first 12 bytes of a file and returns the number of its sections.
func parseFrame(name string, head []byte, magic string, newest uint32) (int, error) {
	if found := string(head[:4]); found != magic {
		return 0, &FormatError{File: name, Offset: 0, Found: fmt.Sprintf("magic %q", found), Expected: fmt.Sprintf("%q", magic)}
	}
	if v := binary.LittleEndian.Uint32(head[4:]); v == 0 || v > newest {
		return 0, &FormatError{File: name, Offset: 4, Found: fmt.Sprintf("version %d", v), Expected: fmt.Sprintf("at most %d", newest)}
	}
	n := binary.LittleEndian.Uint32(head[8:])
	if n > maxSections {
		return 0, &FormatError{File: name, Offset: 8, Found: fmt.Sprintf("%d sections", n), Expected: fmt.Sprintf("at most %d", maxSections)}
	}
	return int(n), nil
}

// readSection reads the 12 bytes before a payload and checks that the payload is there.
func (c *container) readSection(offset int64) (span, error) {
	var head [12]byte
	if err := c.read(head[:], offset); err != nil {
		return span{}, err
	}
	s := span{kind: binary.LittleEndian.Uint32(head[:]), offset: offset + int64(len(head))}
	length := binary.LittleEndian.Uint64(head[4:])
	if left := c.size - s.offset; length > uint64(left) {
		return span{}, c.fault(s, s.offset, fmt.Sprintf("%d bytes up to the end of the file", left), fmt.Sprint(length))
	}
	s.size = int64(length)
	if _, twice := c.sections[s.kind]; twice {
		return span{}, c.fault(s, offset, "the section a second time", "each section once")
	}
	return s, nil
}

// read fills buf from offset.
func (c *container) read(buf []byte, offset int64) error {
	n, err := c.file.ReadAt(buf, offset)
	switch {
	case n == len(buf):
		return nil
	case errors.Is(err, io.EOF):
		return &FormatError{File: c.name, Offset: offset + int64(n), Found: "the end of the file", Expected: fmt.Sprintf("%d more bytes", len(buf)-n)}
	}
	return fmt.Errorf("%s: reading at byte %d: %w", c.name, offset+int64(n), err)
}

// find returns a section that must be there.
func (c *container) find(kind uint32, what string) (span, error) {
	s, ok := c.sections[kind]
	if !ok {
		return span{}, c.fault(span{kind: kind}, c.size, "no such section", what)
	}
	return s, nil
}

// findSized returns a section that must be there and have size bytes.
func (c *container) findSized(kind uint32, size int64, what string) (span, error) {
	s, err := c.find(kind, what)
	if err == nil && s.size != size {
		err = c.fault(s, s.offset, fmt.Sprintf("%d bytes", s.size), fmt.Sprintf("%d: %s", size, what))
	}
	return s, err
}

func (c *container) fault(s span, offset int64, found, expected string) error {
	return &FormatError{File: c.name, Section: s.kind, Offset: offset, Found: found, Expected: expected}
}

// unchanged fails if the file was written to since it was opened: what was checked may not be what was read.
func (c *container) unchanged() error {
	now, err := c.file.Stat()
	if err != nil {
		return err
	}
	if now.Size() != c.size || !now.ModTime().Equal(c.stat.ModTime()) {
		return c.changed()
	}
	return nil
}

func (c *container) changed() error { return fmt.Errorf("%s changed while it was being read", c.name) }

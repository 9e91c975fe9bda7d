package queue

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Bounds on the structure of a message, far above what the contract needs.
const (
	maxDepth  = 8
	maxValues = 4096
)

// MalformedError says why bytes are no message of this contract.
// errors.Is(err, ErrMalformed) holds.
type MalformedError struct {
	What     string // "job", "result", ...
	Field    string // "proofs[2].wtns"; empty for the message as a whole
	Found    string
	Expected string
}

func (e *MalformedError) Error() string {
	at := e.What
	if e.Field != "" {
		at += ": " + e.Field
	}
	return fmt.Sprintf("queue: malformed %s: found %s, expected %s", at, e.Found, e.Expected)
}

// Is makes errors.Is(err, ErrMalformed) hold.
func (e *MalformedError) Is(target error) bool { return target == ErrMalformed }

// scan checks that b is exactly one msgpack value whose lengths fit the bytes
// there are, no deeper than maxDepth, of no more than maxValues values, with
// unique strings for map keys. It allocates nothing that a length in b
// decides, so that a decoder may trust the lengths afterwards: msgpack/v5
// alone would allocate what a header claims, and recurse as deep as it nests.
func scan(b []byte) error {
	s := scanner{b: b}
	if err := s.value(0); err != nil {
		return err
	}
	if s.at != len(b) {
		return fmt.Errorf("%d bytes after the end", len(b)-s.at)
	}
	return nil
}

type scanner struct {
	b      []byte
	at     int
	values int
}

var errTruncated = errors.New("truncated bytes")

func (s *scanner) value(depth int) error {
	h, err := s.header()
	if err != nil {
		return err
	}
	switch h.kind {
	case kindArray, kindMap:
		if depth >= maxDepth {
			return fmt.Errorf("nesting deeper than %d", maxDepth)
		}
	}
	switch h.kind {
	case kindArray:
		return s.array(h.n, depth)
	case kindMap:
		return s.fields(h.n, depth)
	default:
		return s.skip(h.n)
	}
}

func (s *scanner) array(n, depth int) error {
	if n > len(s.b)-s.at {
		return errTruncated
	}
	for range n {
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) fields(n, depth int) error {
	if n > (len(s.b)-s.at)/2 {
		return errTruncated
	}
	seen := make(map[string]struct{}, min(n, 16))
	for range n {
		h, err := s.header()
		if err != nil {
			return err
		}
		if h.kind != kindString {
			return fmt.Errorf("a map key that is %s", h.kind)
		}
		start := s.at
		if err := s.skip(h.n); err != nil {
			return err
		}
		key := string(s.b[start:s.at])
		if _, ok := seen[key]; ok {
			return fmt.Errorf("the key %.40q twice", key)
		}
		seen[key] = struct{}{}
		if err := s.value(depth + 1); err != nil {
			return err
		}
	}
	return nil
}

func (s *scanner) skip(n int) error {
	if n > len(s.b)-s.at {
		return errTruncated
	}
	s.at += n
	return nil
}

// header reads a value's first byte and length, and counts the value.
func (s *scanner) header() (header, error) {
	if s.values++; s.values > maxValues {
		return header{}, fmt.Errorf("more than %d values", maxValues)
	}
	h, size, err := parseHeader(s.b[s.at:])
	s.at += size
	return h, err
}

type kind byte

// Kinds of msgpack values.
const (
	kindNil kind = iota + 1
	kindBool
	kindUint
	kindNegative
	kindFloat
	kindString
	kindBinary
	kindArray
	kindMap
	kindExt
)

func (k kind) String() string {
	return [...]string{"nothing", "nil", "a boolean", "an integer", "a negative integer", "a float",
		"a string", "binary", "an array", "a map", "an extension"}[k]
}

// header is a msgpack value's kind and length: bytes that follow, or the
// number of elements or pairs.
type header struct {
	kind kind
	n    int
}

// parseHeader reads the header at the beginning of b and says how many bytes
// it has. The number of an integer isn't part of it but follows.
func parseHeader(b []byte) (header, int, error) {
	if len(b) == 0 {
		return header{}, 0, errTruncated
	}
	c := b[0]
	switch {
	case c <= 0x7f:
		return header{kindUint, 0}, 1, nil
	case c <= 0x8f:
		return header{kindMap, int(c & 0x0f)}, 1, nil
	case c <= 0x9f:
		return header{kindArray, int(c & 0x0f)}, 1, nil
	case c <= 0xbf:
		return header{kindString, int(c & 0x1f)}, 1, nil
	case c >= 0xe0:
		return header{kindNegative, 0}, 1, nil
	}
	f := formats[c-0xc0]
	if f.kind == 0 {
		return header{}, 0, fmt.Errorf("the byte 0x%02x, which begins no value", c)
	}
	if len(b) < 1+f.lenBytes {
		return header{}, 0, errTruncated
	}
	n := f.fixed
	switch f.lenBytes {
	case 1:
		n += int(b[1])
	case 2:
		n += int(binary.BigEndian.Uint16(b[1:]))
	case 4:
		n += int(binary.BigEndian.Uint32(b[1:]))
	}
	h := header{f.kind, n}
	if (c >= 0xd0 && c <= 0xd3) && len(b) > 1 && b[1] < 0x80 {
		h.kind = kindUint // signed format, positive number
	}
	return h, 1 + f.lenBytes, nil
}

// formats are the first bytes 0xc0 to 0xdf: the kind, how many bytes of
// length follow, and how many bytes come in any case (an extension's type
// counts as one).
var formats = [32]struct {
	kind            kind
	lenBytes, fixed int
}{
	0x00: {kind: kindNil},
	0x02: {kind: kindBool},
	0x03: {kind: kindBool},
	0x04: {kindBinary, 1, 0},
	0x05: {kindBinary, 2, 0},
	0x06: {kindBinary, 4, 0},
	0x07: {kindExt, 1, 1},
	0x08: {kindExt, 2, 1},
	0x09: {kindExt, 4, 1},
	0x0a: {kindFloat, 0, 4},
	0x0b: {kindFloat, 0, 8},
	0x0c: {kindUint, 0, 1},
	0x0d: {kindUint, 0, 2},
	0x0e: {kindUint, 0, 4},
	0x0f: {kindUint, 0, 8},
	0x10: {kindNegative, 0, 1},
	0x11: {kindNegative, 0, 2},
	0x12: {kindNegative, 0, 4},
	0x13: {kindNegative, 0, 8},
	0x14: {kindExt, 0, 2},
	0x15: {kindExt, 0, 3},
	0x16: {kindExt, 0, 5},
	0x17: {kindExt, 0, 9},
	0x18: {kindExt, 0, 17},
	0x19: {kindString, 1, 0},
	0x1a: {kindString, 2, 0},
	0x1b: {kindString, 4, 0},
	0x1c: {kindArray, 2, 0},
	0x1d: {kindArray, 4, 0},
	0x1e: {kindMap, 2, 0},
	0x1f: {kindMap, 4, 0},
}

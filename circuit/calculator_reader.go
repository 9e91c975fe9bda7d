package circuit

import "fmt"

// A wasmReader reads WebAssembly's binary format. After a fault it reads zeros, and err says what the first was.
type wasmReader struct {
	data []byte
	at   int
	kept int // where taken starts
	base int // of data in the file
	err  error
}

func (r *wasmReader) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("at byte %d it has %s", r.base+r.at, what)
	}
	r.at = len(r.data)
}

func (r *wasmReader) byte() byte {
	if r.at == len(r.data) {
		r.fail("an early end")
		return 0
	}
	r.at++
	return r.data[r.at-1]
}

// uint reads an unsigned integer of up to 32 bits (LEB128).
func (r *wasmReader) uint() uint32 {
	var n uint64
	for shift := 0; shift < 35; shift += 7 {
		c := r.byte()
		n |= uint64(c&0x7f) << shift
		if c < 0x80 && n <= 1<<32-1 {
			return uint32(n)
		}
	}
	r.fail("an integer of more than 32 bits")
	return 0
}

// count reads how many entries follow, of a byte at least.
func (r *wasmReader) count() uint32 {
	n := r.uint()
	if uint64(n) > uint64(len(r.data)-r.at) {
		r.fail(fmt.Sprintf("a count of %d, with %d bytes left", n, len(r.data)-r.at))
		return 0
	}
	return n
}

// signed reads past a signed integer of up to 64 bits.
func (r *wasmReader) signed() {
	for range 10 {
		if r.byte() < 0x80 {
			return
		}
	}
	r.fail("an integer of more than 64 bits")
}

// sub is a reader of the next n bytes.
func (r *wasmReader) sub(n uint32) *wasmReader {
	if uint64(n) > uint64(len(r.data)-r.at) {
		r.fail(fmt.Sprintf("a length of %d, with %d bytes left", n, len(r.data)-r.at))
		return &wasmReader{}
	}
	s := &wasmReader{data: r.data[r.at : r.at+int(n)], base: r.base + r.at}
	r.at += int(n)
	return s
}

func (r *wasmReader) name() string { return string(r.sub(r.uint()).data) }

// limits reads the size that a table or memory has at first, and past the most that it may have.
func (r *wasmReader) limits() (least uint32) {
	flags := r.byte()
	least = r.uint()
	if flags&1 != 0 {
		r.uint()
	}
	return least
}

// taken is what was read since it was last asked.
func (r *wasmReader) taken() []byte {
	b := r.data[r.kept:r.at]
	r.kept = r.at
	return b
}

func (r *wasmReader) rest() []byte {
	b := r.data[r.at:]
	r.at = len(r.data)
	return b
}

package main

import (
	"encoding/binary"
	"testing"
)

// loopForEver changes the witness calculator that circom made so that it never comes back from setInputSignal: the function's body
// becomes an endless loop.
func loopForEver(t *testing.T, wasm []byte) []byte {
	t.Helper()
	const imports, exports, code = 2, 7, 10
	sections := map[byte]*wasmReader{}
	for r := (&wasmReader{data: wasm, at: 8}); r.at < len(wasm); {
		kind := r.byte()
		size := r.number()
		sections[kind] = &wasmReader{data: wasm[:r.at+size], at: r.at}
		r.at += size
	}
	index := sections[exports].exported("setInputSignal") - sections[imports].functions()
	body := sections[code]
	body.number() // of functions
	for range index {
		body.at += body.number()
	}
	size := body.number()
	changed := append([]byte(nil), wasm...)
	copy(changed[body.at:], []byte{0, 0x03, 0x40, 0x0c, 0, 0x0b}) // no locals, loop, br 0, end
	for i := body.at + 6; i < body.at+size-1; i++ {
		changed[i] = 0x01 // nop
	}
	changed[body.at+size-1] = 0x0b // end
	return changed
}

// wasmReader reads the parts of a module that loopForEver needs; the module is known to be well formed.
type wasmReader struct {
	data []byte
	at   int
}

func (r *wasmReader) byte() byte {
	r.at++
	return r.data[r.at-1]
}

func (r *wasmReader) number() int {
	n, size := binary.Uvarint(r.data[r.at:])
	r.at += size
	return int(n)
}

func (r *wasmReader) name() string {
	n := r.number()
	r.at += n
	return string(r.data[r.at-n : r.at])
}

// exported returns the index of an exported function.
func (r *wasmReader) exported(name string) int {
	for range r.number() {
		found := r.name()
		r.byte() // kind
		if index := r.number(); found == name {
			return index
		}
	}
	panic("no export " + name)
}

// functions counts the imported functions.
func (r *wasmReader) functions() (n int) {
	for range r.number() {
		r.name()
		r.name()
		switch r.byte() {
		case 0: // function
			n++
			r.number()
		case 2: // memory
			if r.byte() == 1 {
				r.number()
			}
			r.number()
		default:
			panic("an import that circom doesn't make")
		}
	}
	return n
}

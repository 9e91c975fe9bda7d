package main

import (
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/examples/circuits"
)

// Offsets in a .wtns file: section 1 (field size, prime, count) begins at 24, the values at 76.
const (
	wtnsCount  = 60
	wtnsValues = 76
)

// change returns a copy of a file's bytes, changed by edit.
func change(data []byte, edit func([]byte) []byte) []byte { return edit(append([]byte(nil), data...)) }

// fill overwrites n bytes.
func fill(at, n int, b byte) func([]byte) []byte {
	return func(d []byte) []byte {
		for i := range n {
			d[at+i] = b
		}
		return d
	}
}

// protocol makes the zkey one of another protocol: that number is the content of section 1.
func protocol(number uint32) func([]byte) []byte {
	return func(d []byte) []byte {
		for at := 12; at < len(d); {
			kind, size := binary.LittleEndian.Uint32(d[at:]), binary.LittleEndian.Uint64(d[at+4:])
			if kind == 1 {
				binary.LittleEndian.PutUint32(d[at+12:], number)
				return d
			}
			at += 12 + int(size)
		}
		panic("no section 1")
	}
}

// recount changes the number of values in a .wtns file to n, header and values alike.
func recount(n int) func([]byte) []byte {
	return func(d []byte) []byte {
		d = append(d, make([]byte, 32*8)...)[:wtnsValues+32*n]
		binary.LittleEndian.PutUint32(d[wtnsCount:], uint32(n))
		binary.LittleEndian.PutUint64(d[wtnsValues-8:], uint64(32*n))
		return d
	}
}

// Every kind of bad input ends the command with exit code 3 and one line that says what was found and what was expected.
func TestBadInput(t *testing.T) {
	zkey := read(t, exampleFile("multiplier", "bn128", circuits.Zkey))
	wtns := read(t, exampleFile("multiplier", "bn128", circuits.Witness))
	file := func(name string, data []byte) string { return write(t, name, data) }
	addZkey := func(data []byte) []string { return []string{"circuit", "add", "x", "--zkey", file("c.zkey", data)} }
	addWasm := func(data []byte) []string {
		return []string{"circuit", "add", "x", "--zkey", file("c.zkey", zkey), "--wasm", file("c.wasm", data)}
	}
	proveWtns := func(data []byte) []string {
		return []string{"prove", "multiplier-bn128", "--witness", file("w.wtns", data)}
	}
	proveInput := func(text string) []string {
		return []string{"prove", "multiplier-bn128", "--input", file("i.json", []byte(text))}
	}
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"truncated zkey", addZkey(zkey[:len(zkey)-100]), `circuit x: c.zkey: section 10 at byte 2512: found 796 bytes up to the end of the file, expected 896`},
		{"zkey cut in its header", addZkey(zkey[:40]), `circuit x: c.zkey: section 2 at byte 40: found 0 bytes up to the end of the file, expected 660`},
		{"empty zkey", addZkey(nil), `circuit x: c.zkey: at byte 0: found the end of the file, expected 12 more bytes`},
		{"plonk zkey", addZkey(change(zkey, protocol(2))), `circuit x: c.zkey: section 1 at byte 24: found a plonk key, expected a groth16 key`},
		{"fflonk zkey", addZkey(change(zkey, protocol(10))), `circuit x: c.zkey: section 1 at byte 24: found a fflonk key, expected a groth16 key`},
		{"no zkey", addZkey(wtns), `circuit x: c.zkey: at byte 0: found magic "wtns", expected "zkey"`},
		{"missing zkey", []string{"circuit", "add", "x", "--zkey", "/nonexistent/c.zkey"}, `circuit x: open /nonexistent/c.zkey: no such file or directory`},
		{"circuit check", []string{"circuit", "check", "--zkey", file("c.zkey", zkey[:len(zkey)-100])}, `c.zkey: section 10 at byte 2512: found 796 bytes up to the end of the file, expected 896`},
		{"prove with a broken zkey", []string{"prove", "--zkey", file("c.zkey", zkey[:len(zkey)-100]), "--witness", file("w.wtns", wtns)}, `c.zkey: section 10 at byte 2512: found 796 bytes up to the end of the file, expected 896`},
		{"wasm that is no calculator", addWasm([]byte("\x00asm\x01\x00\x00\x00")), `circuit x: c.wasm: no circom 2 witness calculator: it exports no function getVersion`},
		{"no wasm", addWasm([]byte("hello")), `circuit x: c.wasm: no circom 2 witness calculator: it is no WebAssembly module`},
		{"wasm of another curve", addWasm(read(t, exampleFile("multiplier", "bls12381", circuits.Wasm))), `circuit x: c.wasm: found a calculator of 4 wires on bls12381, expected 4 wires on bn128 as in the key`},
		{"wasm of another circuit", addWasm(read(t, exampleFile("merkle", "bn128", circuits.Wasm))), `circuit x: c.wasm: found a calculator of 1995 wires on bn128, expected 4 wires on bn128 as in the key`},
		{"witness of another curve", proveWtns(read(t, exampleFile("multiplier", "bls12381", circuits.Witness))), `invalid_witness: witness 0: witness: section 1 at byte 28: found the prime of bls12381, expected the prime of bn128`},
		{"witness too short", proveWtns(change(wtns, recount(3))), `invalid_witness: witness 0: witness: section 1 at byte 60: found 3 values, expected 4`},
		{"witness too long", proveWtns(change(wtns, recount(5))), `invalid_witness: witness 0: witness: section 1 at byte 60: found 5 values, expected 4`},
		{"witness cut", proveWtns(wtns[:len(wtns)-1]), `invalid_witness: witness 0: witness: section 2 at byte 76: found 127 bytes up to the end of the file, expected 128`},
		{"witness with a tail", proveWtns(append(slices.Clip(wtns), 0)), `invalid_witness: witness 0: witness: at byte 204: found 1 bytes after the last section, expected the end of the file`},
		{"witness value of r or more", proveWtns(change(wtns, fill(wtnsValues+32, 32, 0xff))), `invalid_witness: witness 0: witness: section 2 at byte 108: found value 1 not below the modulus, expected a reduced value`},
		{"witness of another circuit", proveWtns(read(t, exampleFile("merkle", "bn128", circuits.Witness))), `invalid_witness: witness 0: witness: section 1 at byte 60: found 1995 values, expected 4`},
		{"witness words without a header", proveWtns(wtns[wtnsValues:]), `invalid_witness: witness 0: witness: at byte 0: found magic "\x01\x00\x00\x00", expected "wtns" (this looks like 4 bare values without the header of a .wtns)`}, // C15
		{"witness that breaks the circuit", proveWtns(change(wtns, fill(wtnsValues+32, 1, 9))), `unsatisfied: witness 0: the witness does not satisfy constraint 0`},
		{"witness file missing", []string{"prove", "multiplier-bn128", "--witness", "/nonexistent/w.wtns"}, `stat /nonexistent/w.wtns: no such file or directory`},
		{"no folder for the proof", []string{"prove", "multiplier-bn128", "--witness", file("w.wtns", wtns), "--proof", "/nonexistent/p.json"}, `create /nonexistent/p.json: no such file or directory`},
		{"input missing", proveInput(`{"a": 3}`), `invalid_inputs: witness 0: inputs: 1 of 2 input values are set, by "a"; a signal is missing`},
		{"input unknown", proveInput(`{"a": 3, "b": 5, "c": 7}`), `invalid_inputs: witness 0: input signal "c": not an input of the circuit`},
		{"input with too many values", proveInput(`{"a": [3, 4], "b": 5}`), `invalid_inputs: witness 0: input signal "a": 2 values, expected 1`},
		{"input that is no number", proveInput(`{"a": "12abc", "b": 5}`), `invalid_inputs: witness 0: input signal "a": not an integer, expected decimal, 0x, 0o or 0b digits`},
		{"inputs that are no JSON", proveInput(`{"a": 3`), `invalid_inputs: witness 0: inputs: JSON ends early, after byte 7`},
		{"no calculator", []string{"prove", "bare", "--input", file("i.json", []byte(`{}`))}, `calculator: witness 0: circuit bare: the circuit has no witness calculator (wasm)`},
		{"unknown circuit", []string{"prove", "nosuch", "--witness", file("w.wtns", wtns)}, `unknown_circuit: circuit nosuch: unknown circuit in ` + catalogue},
		{"wrong digest", []string{"prove", "multiplier-bn128@" + strings.Repeat("ab", 32), "--witness", file("w.wtns", wtns)}, `wrong_digest: circuit multiplier-bn128: the circuit has another digest: found f4f021aa1012354b837bbbd4d2a115ce23699c2e645f5790cf4448767c8600fc, expected abababababababababababababababababababababababababababababababab`},
		{"inspect of an unknown circuit", []string{"circuit", "inspect", "nosuch"}, `circuit nosuch: unknown circuit in ` + catalogue},
		{"removal of an unknown circuit", []string{"circuit", "remove", "nosuch"}, `circuit nosuch: unknown circuit in ` + catalogue},
		{"name taken", []string{"circuit", "add", "merkle-bn128", "--zkey", file("c.zkey", zkey)}, `circuit merkle-bn128: a circuit of this name is there already: remove it first`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := pinion(t, nil, test.args...)
			if want := "pinion: " + test.want + "\n"; o.code != exitInput || o.stderr != want {
				t.Errorf("exit code %d\n got: %swant: %s", o.code, o.stderr, want)
			}
		})
	}
}

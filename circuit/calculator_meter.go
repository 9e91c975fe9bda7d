package circuit

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Metering makes a module stoppable. wazero has a check of its own at each loop (WithCloseOnContextDone), but leaves the compiled code
// for it, which makes a circom calculator take three times as long, and sees no recursion. Here the module gets a counter, a global,
// that each function and each turn of a loop takes one from; at zero the module calls the host, which looks at the context, and starts
// the counter anew. That is also when Go's scheduler and garbage collector get a hand on the goroutine.
//
// The call needs no import of its own: it is exceptionHandler(meterTick), and every module by circom imports exceptionHandler.
const (
	meterTick   = 0x706e6e // no exception of circom's
	meterPeriod = 1 << 16  // calls and turns between two looks at the context: about a millisecond
)

// What a module of circom's has far less of. Compiling cannot be interrupted, and its time grows with the square of the depth of
// blocks; and a table is memory beside that of a calculation.
const (
	maxBlockDepth    = 1000
	maxTableElements = 1 << 20
	maxLocals        = 1000 // of a function
)

// Sections of a WebAssembly module, and the instructions with a meaning here: https://webassembly.github.io/spec/core/binary/
const (
	wasmCustom    = 0
	wasmTypes     = 1
	wasmImports   = 2
	wasmFunctions = 3
	wasmTables    = 4
	wasmGlobals   = 6
	wasmExports   = 7
	wasmElements  = 9
	wasmCode      = 10
	wasmData      = 11
	wasmDataCount = 12

	opBlock     = 0x02
	opLoop      = 0x03
	opIf        = 0x04
	opEnd       = 0x0b
	opCall      = 0x10
	opGlobalGet = 0x23
	opGlobalSet = 0x24
	opI32Const  = 0x41
	opI32Eqz    = 0x45
	opI32Sub    = 0x6b
	noResult    = 0x40
	typeI32     = 0x7f
)

var wasmMagic = []byte("\x00asm\x01\x00\x00\x00")

// meter returns the module with the counter in it, or without if it doesn't import exceptionHandler: then it is no calculator, which
// checkModule tells. Custom sections are dropped. Only what is in WebAssembly 1.0 is taken: circom uses nothing else.
//
// It checks each count against the bytes that are there, because wazero allocates first and an allocation that fails ends the process.
func meter(wasm []byte) ([]byte, error) {
	if len(wasm) < len(wasmMagic) || string(wasm[:len(wasmMagic)]) != string(wasmMagic) {
		return nil, errors.New("it is no WebAssembly module")
	}
	m := &moduleMeter{handler: -1}
	out := slices.Clone(wasmMagic)
	r := &wasmReader{data: wasm, at: len(wasmMagic)}
	counted, last := false, 0
	for r.at < len(wasm) {
		id := r.byte()
		body := r.sub(r.uint())
		switch rank := sectionRank(id); {
		case r.err != nil:
			return nil, r.err
		case id > wasmDataCount:
			return nil, fmt.Errorf("it has a section %d, which circom doesn't use", id)
		case id == wasmCustom:
			continue
		case rank <= last: // the code must come after what it is given indices of
			return nil, fmt.Errorf("its section %d is out of order", id)
		}
		last = sectionRank(id)
		if m.handler >= 0 && !counted && id >= wasmExports {
			out, counted = appendSection(out, wasmGlobals, append([]byte{1}, counter()...)), true
		}
		section := body.data
		switch id {
		case wasmTypes:
			checkTypes(body)
		case wasmImports:
			m.imports(body)
		case wasmFunctions:
			body.count()
		case wasmExports:
			checkExports(body)
		case wasmTables:
			checkTables(body)
		case wasmGlobals:
			n := body.count()
			m.globals += int(n)
			if m.handler >= 0 {
				section, counted = slices.Concat(binary.AppendUvarint(nil, uint64(n)+1), body.rest(), counter()), true
			}
		case wasmElements:
			m.segments(body, func() { body.uint() })
		case wasmCode:
			section = m.code(body)
		case wasmData:
			m.segments(body, func() { body.byte() })
		}
		if err := cmp.Or(r.err, body.err); err != nil {
			return nil, err
		}
		out = appendSection(out, id, section)
	}
	return out, nil
}

// sectionRank orders the sections as a file must have them: the count of data segments comes before the code.
func sectionRank(id byte) int {
	if id == wasmDataCount {
		return 2*wasmCode - 1
	}
	return 2 * int(id)
}

func appendSection(out []byte, id byte, section []byte) []byte {
	out = binary.AppendUvarint(append(out, id), uint64(len(section)))
	return append(out, section...)
}

// counter declares the counter: a mutable i32.
func counter() []byte {
	return append(append([]byte{typeI32, 1}, i32ConstInstruction(meterPeriod)...), opEnd)
}

func i32ConstInstruction(n int32) []byte {
	code := []byte{opI32Const}
	for ; n >= 0x40; n >>= 7 {
		code = append(code, byte(n)|0x80)
	}
	return append(code, byte(n))
}

// A moduleMeter knows the indices that the inserted code needs.
type moduleMeter struct {
	handler int    // index of the imported exceptionHandler, or -1
	globals int    // of the module, which is the index of the counter
	locals  uint64 // of all functions so far
}

func (m *moduleMeter) imports(r *wasmReader) {
	functions := 0
	for n := r.count(); n > 0 && r.err == nil; n-- {
		module, name := r.name(), r.name()
		switch r.byte() {
		case 0: // function
			r.uint()
			if module == "runtime" && name == "exceptionHandler" {
				m.handler = functions
			}
			functions++
		case 1: // table
			r.byte()
			r.limits()
		case 2: // memory
			r.limits()
		case 3: // global
			r.sub(2)
			m.globals++
		default:
			r.fail("an import of an unknown kind")
		}
	}
}

// checkTypes reads past the types of functions.
func checkTypes(r *wasmReader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if r.byte() != 0x60 {
			r.fail("a type that is no function's")
		}
		r.sub(r.uint()) // parameters
		r.sub(r.uint()) // results
	}
}

// checkExports reads past the exports.
func checkExports(r *wasmReader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.name()
		r.byte() // kind
		r.uint()
	}
}

// segments reads past what the module puts into its table or memory: entries, each of which each reads past.
func (m *moduleMeter) segments(r *wasmReader, each func()) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		if r.byte() != 0 {
			r.fail("a segment of a kind that circom doesn't use")
		}
		for r.err == nil && m.instruction(r) != opEnd { // where to
		}
		for entries := r.count(); entries > 0 && r.err == nil; entries-- {
			each()
		}
	}
}

// checkTables reads past the tables that the module makes.
func checkTables(r *wasmReader) {
	for n := r.count(); n > 0 && r.err == nil; n-- {
		r.byte() // type of the elements
		if least := r.limits(); least > maxTableElements {
			r.fail(fmt.Sprintf("a table of %d elements, which is more than %d", least, maxTableElements))
		}
	}
}

// code inserts the count at the start of every function and loop.
func (m *moduleMeter) code(r *wasmReader) []byte {
	n := r.count()
	out := binary.AppendUvarint(nil, uint64(n))
	count := m.count()
	for ; n > 0 && r.err == nil; n-- {
		f := r.sub(r.uint())
		locals := uint64(0)
		for groups := f.count(); groups > 0 && f.err == nil; groups-- {
			locals += uint64(f.uint())
			f.byte()
		}
		if m.locals += locals; locals > maxLocals || m.locals > uint64(len(r.data)) {
			f.fail(fmt.Sprintf("%d local variables", locals))
		}
		body := slices.Concat(f.taken(), count)
		for depth := 0; f.err == nil && f.at < len(f.data); {
			switch m.instruction(f) {
			case opLoop:
				body = append(append(body, f.taken()...), count...)
				depth++
			case opBlock, opIf:
				depth++
			case opEnd:
				depth--
			}
			if depth > maxBlockDepth {
				f.fail(fmt.Sprintf("blocks nested deeper than %d levels", maxBlockDepth))
			}
		}
		body = append(body, f.taken()...)
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
		r.err = cmp.Or(r.err, f.err)
	}
	return append(out, r.rest()...) // nothing, or what makes the module invalid
}

func (m *moduleMeter) count() []byte {
	if m.handler < 0 {
		return nil
	}
	get := binary.AppendUvarint([]byte{opGlobalGet}, uint64(m.globals))
	set := binary.AppendUvarint([]byte{opGlobalSet}, uint64(m.globals))
	return slices.Concat(
		get, i32ConstInstruction(1), []byte{opI32Sub}, set,
		get, []byte{opI32Eqz, opIf, noResult},
		i32ConstInstruction(meterTick), binary.AppendUvarint([]byte{opCall}, uint64(m.handler)),
		i32ConstInstruction(meterPeriod), set,
		[]byte{opEnd},
	)
}

// instruction reads past one instruction and returns its code.
func (m *moduleMeter) instruction(r *wasmReader) byte {
	op := r.byte()
	switch {
	case op == opBlock, op == opLoop, op == opIf, op == opI32Const, op == 0x42: // a block's type, i32.const, i64.const
		r.signed()
	case op == 0x0c, op == 0x0d, op == opCall, 0x20 <= op && op <= 0x22, op == 0x3f, op == 0x40: // br, br_if, locals, memory.size, .grow
		r.uint()
	case op == opGlobalGet, op == opGlobalSet:
		if int(r.uint()) >= m.globals {
			r.fail("a global that isn't there") // it would be the counter
		}
	case op == 0x11, 0x28 <= op && op <= 0x3e: // call_indirect, loads and stores
		r.uint()
		r.uint()
	case op == 0x43: // f32.const
		r.sub(4)
	case op == 0x44: // f64.const
		r.sub(8)
	case op <= 0x01, op == 0x05, op == opEnd, op == 0x0f, op == 0x1a, op == 0x1b, 0x45 <= op && op <= 0xc4: // no operands
	default:
		r.fail(fmt.Sprintf("instruction %#02x, which circom doesn't use", op))
	}
	return op
}

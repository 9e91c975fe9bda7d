package circuit

import (
	"encoding/binary"
	"slices"

	"github.com/pinion-zk/pinion/groth16"
)

// A fakeFunction is a function of a fakeModule: parameters and results are i32, code is without the final end.
type fakeFunction struct {
	name            string
	params, results int
	code            []byte
}

type fakeImport struct {
	module, name string
	params       int
}

// A fakeModule is a WebAssembly module written by hand: with the interface of circom 2's calculators, for the tests to bend.
type fakeModule struct {
	imports   []fakeImport
	functions []fakeFunction
	pages     int
	memory    string // its exported name
	data      []byte // at fakeBuffer
}

const fakeBuffer = 1024

// newFake makes a calculator whose only input is one value, and whose witness is 1, 1.
func newFake() *fakeModule {
	return &fakeModule{
		imports: []fakeImport{{"runtime", "exceptionHandler", 1}, {"runtime", "printErrorMessage", 0}},
		functions: []fakeFunction{
			{"getVersion", 0, 1, i32Const(2)},
			{"getFieldNumLen32", 0, 1, i32Const(8)},
			{"getSharedRWMemoryStart", 0, 1, i32Const(fakeBuffer)},
			{"getRawPrime", 0, 0, nil},
			{"getWitnessSize", 0, 1, i32Const(2)},
			{"getInputSize", 0, 1, i32Const(1)},
			{"init", 1, 0, nil},
			{"setInputSignal", 3, 0, nil},
			{"getInputSignalSize", 2, 1, i32Const(1)},
			{"getWitness", 1, 0, storeWord(0, 1)},
			{"getMessageChar", 0, 1, i32Const(0)},
		},
		pages:  1,
		memory: "memory",
		data:   littleEndian(groth16.BN254.ScalarModulus(), 32),
	}
}

// with replaces a function's code.
func (m *fakeModule) with(name string, code ...[]byte) *fakeModule {
	for i := range m.functions {
		if m.functions[i].name == name {
			m.functions[i].code = slices.Concat(code...)
			return m
		}
	}
	panic("no function " + name)
}

// without drops a function.
func (m *fakeModule) without(name string) *fakeModule {
	m.functions = slices.DeleteFunc(m.functions, func(f fakeFunction) bool { return f.name == name })
	return m
}

func (m *fakeModule) build() []byte {
	var types, imports, functions, exports, code [][]byte
	for _, i := range m.imports {
		imports = append(imports, slices.Concat(name(i.module), name(i.name), []byte{0}, uleb(len(types))))
		types = append(types, slices.Concat([]byte{0x60}, i32s(i.params), i32s(0)))
	}
	for _, f := range m.functions {
		exports = append(exports, slices.Concat(name(f.name), []byte{0}, uleb(len(types))))
		functions = append(functions, uleb(len(types)))
		types = append(types, slices.Concat([]byte{0x60}, i32s(f.params), i32s(f.results)))
		body := slices.Concat([]byte{0}, f.code, []byte{0x0b})
		code = append(code, slices.Concat(uleb(len(body)), body))
	}
	exports = append(exports, slices.Concat(name(m.memory), []byte{2, 0}))
	data := slices.Concat([]byte{0}, i32Const(fakeBuffer), []byte{0x0b}, uleb(len(m.data)), m.data)
	return slices.Concat([]byte("\x00asm\x01\x00\x00\x00"),
		section(1, types), section(2, imports), section(3, functions),
		section(5, [][]byte{slices.Concat([]byte{0}, uleb(m.pages))}),
		section(7, exports), section(10, code), section(11, [][]byte{data}))
}

func section(id byte, entries [][]byte) []byte {
	body := slices.Concat(uleb(len(entries)), slices.Concat(entries...))
	return slices.Concat([]byte{id}, uleb(len(body)), body)
}

func name(s string) []byte { return append(uleb(len(s)), s...) }

func i32s(n int) []byte { return append(uleb(n), slices.Repeat([]byte{0x7f}, n)...) }

func uleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func sleb(n int64) (b []byte) {
	for {
		c := byte(n & 0x7f)
		n >>= 7
		if n == 0 && c&0x40 == 0 || n == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

func i32Const(n int32) []byte { return append([]byte{0x41}, sleb(int64(n))...) }

// storeWord writes a 64-bit word of the element in the buffer.
func storeWord(word int, value int64) []byte {
	return slices.Concat(i32Const(int32(fakeBuffer+8*word)), []byte{0x42}, sleb(value), []byte{0x37, 3, 0})
}

// raise calls the first import, exceptionHandler.
func raise(code int32) []byte { return append(i32Const(code), 0x10, 0) }

var (
	forever     = []byte{0x03, 0x40, 0x0c, 0, 0x0b} // loop, br 0, end
	unreachable = []byte{0x00}
	message     = []byte{0x10, 1} // printErrorMessage
)

func growMemory(pages int32) []byte { return append(i32Const(pages), 0x40, 0, 0x1a) }

package circuit

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/groth16"
	"github.com/tetratelabs/wazero"
)

func TestMeterRefuses(t *testing.T) {
	in := func(code ...byte) []byte { return newFake().with("init", code).build() }
	magic := "\x00asm\x01\x00\x00\x00"
	for _, test := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"no module", []byte("\x00asm\x02\x00\x00\x00"), "it is no WebAssembly module"},
		{"cut length", []byte(magic + "\x02"), "at byte 9 it has an early end"},
		{"length over the end", []byte(magic + "\x02\xff\xff\xff\xff\x0f"), "at byte 14 it has a length of 4294967295, with 0 bytes left"},
		{"length of 36 bits", []byte(magic + "\x02\xff\xff\xff\xff\x7f"), "at byte 14 it has an integer of more than 32 bits"},
		{"imports over the end", []byte(magic + "\x02\x05\xff\xff\xff\xff\x0f"), "at byte 15 it has a count of 4294967295, with 0 bytes left"},
		{"parameters over the end", []byte(magic + "\x01\x07\x01\x60\xff\xff\xff\xff\x0f"), "at byte 17 it has a length of 4294967295, with 0 bytes left"},
		{"locals", []byte(magic + "\x0a\x0a\x01\x08\x01\xff\xff\xff\xff\x0f\x7f\x0b"), "at byte 19 it has 4294967295 local variables"},
		{"passive segment", []byte(magic + "\x0b\x03\x01\x01\x00"), "at byte 12 it has a segment of a kind that circom doesn't use"},
		{"unknown import", []byte(magic + "\x02\x06\x01\x01a\x01b\x09"), "at byte 16 it has an import of an unknown kind"},
		{"unknown section", []byte(magic + "\x0d\x00"), "it has a section 13, which circom doesn't use"},
		{"sections out of order", []byte(magic + "\x03\x01\x00\x02\x01\x00"), "its section 2 is out of order"},
		{"section twice", []byte(magic + "\x03\x01\x00\x03\x01\x00"), "its section 3 is out of order"},
		{"the counter's index", in(opI32Const, 1, opGlobalSet, 0), "at byte 371 it has a global that isn't there"},
		{"vector instruction", in(0xfd, 0), "at byte 368 it has instruction 0xfd, which circom doesn't use"},
		{"deep blocks", in(slices.Concat(bytes.Repeat([]byte{opBlock, noResult}, 1001), bytes.Repeat([]byte{opEnd}, 1001))...), "at byte 2371 it has blocks nested deeper than 1000 levels"},
		{"branch table", in(0x0e, 0, 0), "at byte 368 it has instruction 0x0e, which circom doesn't use"},
		{"large table", []byte(magic + "\x04\x07\x01\x70\x00\x80\x80\x80\x40"), "at byte 17 it has a table of 134217728 elements, which is more than 1048576"},
		{"endless constant", in(append([]byte{opI32Const}, bytes.Repeat([]byte{0xff}, 10)...)...), "at byte 378 it has an integer of more than 64 bits"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := meter(test.wasm); err == nil || err.Error() != test.want {
				t.Fatalf("%v\nwant %s", err, test.want)
			}
		})
	}
}

// Recursion without a loop is stopped as well: two calls in each of a function's calls take for ever before the stack is full.
func TestMeterStopsRecursion(t *testing.T) {
	const init = 8 // index of the function, after two imports
	// if the parameter isn't 0: init(parameter-1), twice
	twice := []byte{0x20, 0, opIf, noResult,
		0x20, 0, opI32Const, 1, opI32Sub, opCall, init,
		0x20, 0, opI32Const, 1, opI32Sub, opCall, init,
		opEnd}
	start := []byte{opI32Const, 60, opCall, init}
	m := newFake().with("init", twice).with("setInputSignal", start)
	c := openCalculator(t, m.build(), CalculatorOptions{})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := c.Calculate(ctx, []byte(`{"a":5}`), make([]byte, 2*groth16.ScalarSize))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

// Whatever the meter takes, it makes no valid module of an invalid one, nor the other way round.
func FuzzMeter(f *testing.F) {
	f.Add(newFake().build())
	f.Add(newFake().with("init", forever).build())
	f.Add(newFake().with("init", []byte{opI32Const, 1, opGlobalSet, 0}).build())
	f.Add([]byte("\x00asm\x01\x00\x00\x00"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00" + // a byte after the last function's code
		"\x01\x05\x01\x60\x01\x7f\x00" + "\x02\x1c\x01\x07runtime\x10exceptionHandler\x00\x00" + "\x0a\x02\x00\x00"))
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfigInterpreter())
	f.Cleanup(func() { r.Close(ctx) })
	f.Fuzz(func(t *testing.T, wasm []byte) {
		metered, err := meter(wasm)
		if err != nil {
			return
		}
		if hasCustomSection(wasm) { // dropped, so whether they are valid doesn't matter
			return
		}
		before, errBefore := r.CompileModule(ctx, wasm)
		after, errAfter := r.CompileModule(ctx, metered)
		if (errBefore == nil) != (errAfter == nil) {
			t.Fatalf("before %v, after %v", errBefore, errAfter)
		}
		for _, m := range []wazero.CompiledModule{before, after} {
			if m != nil {
				m.Close(ctx)
			}
		}
	})
}

func hasCustomSection(wasm []byte) bool {
	for r := (&wasmReader{data: wasm, at: len(wasmMagic)}); r.at < len(wasm); r.sub(r.uint()) {
		if r.byte() == wasmCustom {
			return true
		}
	}
	return false
}

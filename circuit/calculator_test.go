package circuit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

func readWasm(t testing.TB, file string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "wasm", file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func openCalculator(t testing.TB, wasm []byte, opt CalculatorOptions) *Calculator {
	t.Helper()
	c, err := NewCalculator(t.Context(), wasm, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	return c
}

// The files come from the tools of others: the modules from circom, the witnesses from snarkjs.
func TestCalculate(t *testing.T) {
	for _, test := range []struct {
		circuit      string
		curve        groth16.Curve
		vars, inputs int
	}{
		{"sum-bn128", groth16.BN254, 8, 7},
		{"sum-bls12381", groth16.BLS12381, 8, 7},
		{"bus", groth16.BN254, 9, 17},
		{"none", groth16.BN254, 3, 0},
	} {
		t.Run(test.circuit, func(t *testing.T) {
			c := openCalculator(t, readWasm(t, test.circuit+".wasm"), CalculatorOptions{CacheDir: t.TempDir()})
			if c.Curve() != test.curve || c.Vars() != test.vars || c.Inputs() != test.inputs {
				t.Fatalf("%v, %d values, %d inputs", c.Curve(), c.Vars(), c.Inputs())
			}
			base, _, _ := strings.Cut(test.circuit, "-")
			got := make([]byte, c.Vars()*groth16.ScalarSize)
			if err := c.Calculate(t.Context(), readWasm(t, base+".json"), got); err != nil {
				t.Fatal(err)
			}
			if want := readWasm(t, test.circuit+".wtns")[76:]; !bytes.Equal(got, want) {
				t.Fatalf("witness %x\nwant %x", got, want)
			}
		})
	}
}

func TestNewCalculatorRefuses(t *testing.T) {
	circom1 := newFake().without("getVersion")
	circom1.functions = append(circom1.functions, fakeFunction{"getNVars", 0, 1, i32Const(1)})
	otherImport := newFake()
	otherImport.imports = append(otherImport.imports, fakeImport{"wasi_snapshot_preview1", "fd_write", 4})
	otherImportType := newFake()
	otherImportType.imports[1].params = 1
	otherField := newFake()
	otherField.data = bytes.Repeat([]byte{7}, 32)
	otherMemory := newFake()
	otherMemory.memory = "mem"
	otherType := newFake().without("getWitness")
	otherType.functions = append(otherType.functions, fakeFunction{"getWitness", 2, 0, nil})
	noRoom := newFake()
	noRoom.pages = 0
	large := newFake()
	large.pages = 65536
	const is = "no circom 2 witness calculator: "
	for _, test := range []struct {
		name string
		wasm []byte
		want string
	}{
		{"empty", nil, is + "it is no WebAssembly module"},
		{"zkey", []byte("zkey\x01\x00\x00\x00"), is + "it is no WebAssembly module"},
		{"no exports", []byte("\x00asm\x01\x00\x00\x00"), is + "it exports no function getVersion"},
		{"cut", newFake().build()[:100], is + "at byte 67 it has a length of 56, with 33 bytes left"},
		{"circom 1", circom1.build(), is + "circom 1 made it"},
		{"later circom", newFake().with("getVersion", i32Const(3)).build(), is + "it says that circom 3 made it"},
		{"missing function", newFake().without("getWitness").build(), is + "it exports no function getWitness"},
		{"other function type", otherType.build(), is + "its function getWitness has other parameters or results"},
		{"other memory", otherMemory.build(), is + "it exports no memory"},
		{"other import", otherImport.build(), is + `it imports "fd_write" from "wasi_snapshot_preview1"`},
		{"other import type", otherImportType.build(), is + "it imports printErrorMessage with other parameters or results"},
		{"other field", otherField.build(), is + "its field is neither bn128's nor bls12381's"},
		{"goldilocks", newFake().with("getFieldNumLen32", i32Const(2)).build(), is + "its field elements have 2 words of 32 bits, expected 8"},
		{"buffer outside", newFake().with("getSharedRWMemoryStart", i32Const(65536-31)).build(), is + "its buffer at 65505 lies outside of its memory"},
		{"negative buffer", newFake().with("getSharedRWMemoryStart", i32Const(-8)).build(), is + "its buffer at 4294967288 lies outside of its memory"},
		{"witness of 2^31", newFake().with("getWitnessSize", i32Const(-1<<31)).build(), is + "getWitnessSize says 2147483648, which its memory of 65536 bytes has no room for"},
		{"negative witness", newFake().with("getWitnessSize", i32Const(-1)).build(), is + "getWitnessSize says 4294967295, which its memory of 65536 bytes has no room for"},
		{"empty witness", newFake().with("getWitnessSize", i32Const(0)).build(), is + "its witnesses are empty"},
		{"inputs of 2^31", newFake().with("getInputSize", i32Const(-1<<31)).build(), is + "getInputSize says 2147483648, which its memory of 65536 bytes has no room for"},
		{"large memory", large.build(), "witness calculator starts with 4294967296 bytes of memory, the limit is 1073741824"},
		{"no instance", noRoom.build(), "witness calculator: data[0]: out of bounds memory access"},
		{"trap", newFake().with("getVersion", unreachable).build(), "witness calculator: wasm error: unreachable"},
		{"stack overflow", newFake().with("getRawPrime", []byte{0x10, 5}).build(), "witness calculator: stack overflow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewCalculator(t.Context(), test.wasm, CalculatorOptions{})
			if err == nil || err.Error() != test.want {
				t.Fatalf("%v\nwant %s", err, test.want)
			}
			if errors.Is(err, ErrNotCalculator) != strings.HasPrefix(test.want, is) {
				t.Fatalf("%v is ErrNotCalculator: %t", err, errors.Is(err, ErrNotCalculator))
			}
		})
	}
}

// P8 for the wasm file: cut anywhere it is refused; with a flipped bit it is refused, fails, or computes, but ends.
func TestP8DamagedCalculator(t *testing.T) {
	wasm := readWasm(t, "sum-bn128.wasm")
	for size := 0; size < len(wasm); size += 1 + len(wasm)/200 {
		if _, err := NewCalculator(t.Context(), wasm[:size], CalculatorOptions{}); !errors.Is(err, ErrNotCalculator) {
			t.Fatalf("cut at %d: %v", size, err)
		}
	}
	ctx := t.Context()
	for at := 0; at < len(wasm); at += len(wasm) / 40 {
		flipped := bytes.Clone(wasm)
		flipped[at] ^= 1 << (at % 8)
		c, err := NewCalculator(ctx, flipped, CalculatorOptions{})
		if err != nil {
			continue
		}
		once, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		c.Calculate(once, readWasm(t, "sum.json"), make([]byte, c.Vars()*groth16.ScalarSize))
		cancel()
		c.Close(ctx)
	}
}

// What a module does in a calculation that no module by circom would.
func TestCalculateRefuses(t *testing.T) {
	for _, test := range []struct {
		name   string
		module *fakeModule
		want   string
	}{
		{"fine", newFake(), ""},
		{"signal not found", newFake().with("setInputSignal", raise(1)), `input signal "a": not an input of the circuit`},
		{"too many signals", newFake().with("setInputSignal", raise(2)), `input signal "a": given after the circuit had all its values`},
		{"set twice", newFake().with("setInputSignal", raise(3)), `input signal "a": given twice`},
		{"assert", newFake().with("setInputSignal", raise(4)), "an assertion of the circuit failed"},
		{"message", newFake().with("setInputSignal", message, message, raise(4)).with("getMessageChar", i32Const('x')), "an assertion of the circuit failed: " + strings.Repeat("x", 4096)},
		{"memory", newFake().with("setInputSignal", raise(5)), "witness calculator: out of memory, the limit is 1048576 bytes"},
		{"array access", newFake().with("setInputSignal", raise(6)), `input signal "a": more values than the circuit takes`},
		{"out of bounds", newFake().with("setInputSignal", raise(7)), "an assertion of the circuit failed: array index out of bounds"},
		{"unknown code", newFake().with("setInputSignal", raise(99)), "witness calculator: unknown exception 99"},
		{"trap", newFake().with("setInputSignal", unreachable), "witness calculator: wasm error: unreachable"},
		{"in init", newFake().with("init", raise(4)), "an assertion of the circuit failed"},
		{"in getWitness", newFake().with("getWitness", raise(99)), "witness calculator: unknown exception 99"},
		{"element >= r", newFake().with("getWitness", storeWord(0, 1), storeWord(3, -1)), "witness calculator: value 0 of the witness: not below the order of the scalar field"},
		{"constant", newFake().with("getWitness", storeWord(0, 2)), "witness calculator: value 0 of the witness is not 1"},
		{"signal of other size", newFake().with("getInputSignalSize", i32Const(2)), `input signal "a": 1 values, expected 2`},
		{"unknown signal", newFake().with("getInputSignalSize", i32Const(0)), `input signal "a": not an input of the circuit`},
		{"no sizes, as in circom 2.0.0", newFake().without("getInputSignalSize"), ""},
		{"grows over the limit", newFake().with("init", growMemory(100), growMemory(1<<15)), ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := openCalculator(t, test.module.build(), CalculatorOptions{MemoryLimit: 1 << 20})
			err := c.Calculate(t.Context(), []byte(`{"a":5}`), make([]byte, 2*groth16.ScalarSize))
			if got := fmt.Sprint(err); got != test.want && !(err == nil && test.want == "") {
				t.Fatalf("%s\nwant %s", got, test.want)
			}
			if c.MemoryBytes() > 1<<20 {
				t.Fatalf("%d bytes of memory", c.MemoryBytes())
			}
		})
	}
}

// C14: circom 2.2.0 left a call of printDebug in its calculators, which prints values.
func TestC14PrintDebug(t *testing.T) {
	m := newFake()
	m.imports = append(m.imports, fakeImport{"runtime", "printDebug", 1})
	m.with("setInputSignal", i32Const(7), []byte{opCall, 2})
	got := make([]byte, 2*groth16.ScalarSize)
	if err := openCalculator(t, m.build(), CalculatorOptions{}).Calculate(t.Context(), []byte(`{"a":5}`), got); err != nil {
		t.Fatal(err)
	}
	if want := bytes.Repeat(littleEndian(big.NewInt(1), groth16.ScalarSize), 2); !bytes.Equal(got, want) {
		t.Fatalf("witness %x\nwant %x", got, want)
	}
}

// C13, and the message of a failed assertion, with a circuit by circom.
func TestC13InputSignals(t *testing.T) {
	c := openCalculator(t, readWasm(t, "sum-bn128.wasm"), CalculatorOptions{})
	dst := make([]byte, c.Vars()*groth16.ScalarSize)
	for _, test := range []struct{ name, inputs, want string }{
		{"missing", `{"b": [1,2,3,4,5,6]}`, `inputs: 6 of 7 input values are set, by "b"; a signal is missing`},
		{"unknown", `{"a": 3, "b": [1,2,3,4,5,6], "x": 1}`, `input signal "x": not an input of the circuit`},
		{"one more", `{"a": 3, "b": [1,2,3,4,5,6,7]}`, `input signal "b": 7 values, expected 6`},
		{"one less", `{"a": 3, "b": [[1,2,3],[4,5]]}`, `input signal "b": 5 values, expected 6`},
		{"array for one", `{"a": [3,3], "b": [1,2,3,4,5,6]}`, `input signal "a": 2 values, expected 1`},
		{"assertion", `{"a": 4, "b": [1,2,3,4,5,6]}`, "an assertion of the circuit failed: Error in template Sum_1 line: 18"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := c.Calculate(t.Context(), []byte(test.inputs), dst)
			if err == nil || err.Error() != test.want {
				t.Fatalf("%v\nwant %s", err, test.want)
			}
			var assertion *AssertError
			var input *InputError
			if !errors.As(err, &assertion) && !errors.As(err, &input) {
				t.Fatalf("%T", err)
			}
		})
	}
	err := c.Calculate(t.Context(), []byte(`{}`), dst[1:])
	if want := "witness buffer of 255 bytes, expected 8 values of 32 bytes"; err == nil || err.Error() != want {
		t.Fatalf("%v\nwant %s", err, want)
	}
}

// A module that doesn't end is stopped by the context, wherever it spins.
func TestCalculateStops(t *testing.T) {
	for _, function := range []string{"init", "getInputSignalSize", "setInputSignal", "getWitness"} {
		t.Run(function, func(t *testing.T) {
			code := [][]byte{forever}
			if function == "getInputSignalSize" {
				code = append(code, i32Const(1))
			}
			c := openCalculator(t, newFake().with(function, code...).build(), CalculatorOptions{})
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
			defer cancel()
			err := c.Calculate(ctx, []byte(`{"a":5}`), make([]byte, 2*groth16.ScalarSize))
			if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "witness calculator stopped: context deadline exceeded" {
				t.Fatal(err)
			}
		})
	}
	t.Run("probe", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		_, err := NewCalculator(ctx, newFake().with("getRawPrime", forever).build(), CalculatorOptions{})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
}

// C2: calculations at the same time don't see each other.
func TestCalculateInParallel(t *testing.T) {
	c := openCalculator(t, readWasm(t, "sum-bn128.wasm"), CalculatorOptions{})
	const n = 16
	inputs := make([][]byte, n)
	want := make([][]byte, n)
	for i := range n {
		inputs[i] = fmt.Appendf(nil, `{"a":-3,"b":[%d,%d,%d,%d,5,6]}`, i, i*i, i+1, 7*i)
		want[i] = make([]byte, c.Vars()*groth16.ScalarSize)
		if err := c.Calculate(t.Context(), inputs[i], want[i]); err != nil {
			t.Fatal(err)
		}
	}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			got := make([]byte, len(want[i]))
			for range 4 {
				clear(got)
				if err := c.Calculate(t.Context(), inputs[i], got); err != nil || !bytes.Equal(got, want[i]) {
					t.Errorf("inputs %d: %v, %x, want %x", i, err, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

// C3: 500 witnesses leave nothing behind.
func TestC3MemoryIsFlat(t *testing.T) {
	c := openCalculator(t, readWasm(t, "sum-bn128.wasm"), CalculatorOptions{})
	dst := make([]byte, c.Vars()*groth16.ScalarSize)
	inputs := readWasm(t, "sum.json")
	calculate := func(n int) int64 {
		for range n {
			if err := c.Calculate(t.Context(), inputs, dst); err != nil {
				t.Fatal(err)
			}
		}
		debug.FreeOSMemory()
		return residentBytes(t)
	}
	before := calculate(20)
	const allowance = 8 << 20 // a tenth of what the instances take
	if after := calculate(500); after > before+allowance {
		t.Fatalf("%d bytes resident after 500 witnesses, %d before", after, before)
	}
}

func residentBytes(t *testing.T) int64 {
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(statm), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

// The compiled code of one process serves the next; what is damaged, at whatever place, is compiled anew and never run.
func TestCalculatorCache(t *testing.T) {
	dir := t.TempDir()
	wasm := readWasm(t, "sum-bn128.wasm")
	calculate := func() {
		t.Helper()
		c := openCalculator(t, wasm, CalculatorOptions{CacheDir: dir})
		got := make([]byte, c.Vars()*groth16.ScalarSize)
		if err := c.Calculate(t.Context(), readWasm(t, "sum.json"), got); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, readWasm(t, "sum-bn128.wtns")[76:]) {
			t.Fatal("another witness")
		}
	}
	calculate()
	files := filesUnder(t, dir)
	if len(files) != 2 {
		t.Fatalf("cache holds %q", files)
	}
	first := files[0]
	if filepath.Base(first) == codeSumFile {
		first = files[1]
	}
	whole, err := os.ReadFile(first)
	if err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1e9, 0)
	if err := os.Chtimes(first, old, old); err != nil {
		t.Fatal(err)
	}
	calculate()
	if stat, err := os.Stat(first); err != nil || !stat.ModTime().Equal(old) {
		t.Fatalf("whole, but compiled again: %v", err)
	}
	damage := func(code []byte) {
		t.Helper()
		if err := os.WriteFile(first, code, 0o600); err != nil {
			t.Fatal(err)
		}
		calculate()
		if now, err := os.ReadFile(first); err != nil || !bytes.Equal(now, whole) {
			t.Fatalf("not compiled again: %v", err)
		}
		if left := filesUnder(t, dir); len(left) != 2 {
			t.Fatalf("cache holds %q", left)
		}
	}
	for _, at := range []int{0, 7, 20, 40, len(whole) / 2, len(whole) - 1} {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 0x10
		damage(flipped)
	}
	for _, size := range []int{0, 3, 50, len(whole) / 2, len(whole) - 1} {
		damage(whole[:size])
	}

	_, err = NewCalculator(t.Context(), wasm, CalculatorOptions{CacheDir: first}) // a file
	if want := "cache of compiled witness calculators: mkdir " + first + ": not a directory"; err == nil || err.Error() != want {
		t.Fatalf("%v\nwant %s", err, want)
	}
}

// Processes that start at the same time with an empty cache don't disturb each other.
func TestCalculatorCacheIsShared(t *testing.T) {
	dir := t.TempDir()
	wasm := readWasm(t, "none.wasm")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			c, err := NewCalculator(t.Context(), wasm, CalculatorOptions{CacheDir: dir})
			if err != nil {
				t.Error(err)
				return
			}
			c.Close(context.Background())
		})
	}
	wg.Wait()
	if files := filesUnder(t, dir); len(files) != 2 {
		t.Fatalf("cache holds %q", files)
	}
}

func filesUnder(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestCompilerSupports(t *testing.T) {
	for _, test := range []struct {
		goos, goarch string
		sse41, want  bool
	}{
		{"linux", "amd64", true, true},
		{"linux", "amd64", false, false},
		{"darwin", "arm64", false, true},
		{"linux", "riscv64", false, false},
		{"js", "wasm", false, false},
	} {
		if err := compilerSupports(test.goos, test.goarch, test.sse41); (err == nil) != test.want {
			t.Errorf("%s/%s: %v", test.goos, test.goarch, err)
		}
	}
	err := compilerSupports("linux", "riscv64", false)
	if want := "witness calculators can't be compiled on linux/riscv64: expected arm64, or amd64 with SSE4.1"; err.Error() != want {
		t.Fatal(err)
	}
}

func BenchmarkCalculate(b *testing.B) {
	c := openCalculator(b, readWasm(b, "sum-bn128.wasm"), CalculatorOptions{})
	inputs := readWasm(b, "sum.json")
	dst := make([]byte, c.Vars()*groth16.ScalarSize)
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Calculate(b.Context(), inputs, dst); err != nil {
			b.Fatal(err)
		}
	}
}

package circuit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/pinion-zk/pinion/groth16"
	"github.com/tetratelabs/wazero"
	"golang.org/x/sys/cpu"
)

// ErrNotCalculator is wrapped by NewCalculator's errors for a file that isn't the witness calculator of a circom 2 circuit on one of
// the two curves.
var ErrNotCalculator = errors.New("no circom 2 witness calculator")

const (
	defaultMemoryLimit = 1 << 30
	pageSize           = 1 << 16          // of WebAssembly
	probeTimeout       = 10 * time.Second // for what returns constants
)

// CalculatorOptions say where compiled code is kept and how much memory a calculation may take.
type CalculatorOptions struct {
	// CacheDir keeps the compiled code for later processes; empty keeps none. It is made if it isn't there, for its owner only: who
	// can write to it can run code in this process. Where this process may not write, and the code isn't there, none is kept.
	CacheDir string
	// MemoryLimit bounds the linear memory of one calculation, in bytes, rounded down to pages of 64 KiB; 0 means 1 GiB.
	MemoryLimit int64
}

// A Calculator computes the witnesses of one circuit by the WebAssembly module that circom 2 made for it, compiled to machine code.
// Each calculation runs in an instance of its own: nothing is left of it, in memory or in state, when it ends. What the circuit prints
// with log() is dropped, because it may hold witness values.
//
// A Calculator is safe for concurrent use, but for Close.
type Calculator struct {
	runtime wazero.Runtime
	cache   wazero.CompilationCache // nil without a directory
	module  wazero.CompiledModule
	limit   int64 // bytes of linear memory
	sized   bool  // the module tells the sizes of signals
	peak    atomic.Int64

	curve        groth16.Curve
	vars, inputs int
}

// NewCalculator compiles a circuit's wasm file, or takes the compiled code from the cache, and checks that it is what it should be.
// The compilation itself doesn't watch ctx. It never interprets: where code can't be compiled it fails, because an interpreter takes
// tens of times longer.
func NewCalculator(ctx context.Context, wasm []byte, opt CalculatorOptions) (*Calculator, error) {
	if err := compilerSupports(runtime.GOOS, runtime.GOARCH, cpu.X86.HasSSE41); err != nil {
		return nil, err
	}
	c := &Calculator{limit: opt.MemoryLimit}
	if c.limit == 0 {
		c.limit = defaultMemoryLimit
	}
	c.limit = min(c.limit, math.MaxUint32) / pageSize * pageSize
	if err := c.open(ctx, wasm, opt.CacheDir); err != nil {
		c.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return c, nil
}

// compilerSupports tells why wazero's compiler can't be used, if so: it panics itself.
func compilerSupports(goos, goarch string, sse41 bool) error {
	switch goos {
	case "linux", "darwin", "freebsd", "netbsd":
		if goarch == "arm64" || goarch == "amd64" && sse41 {
			return nil
		}
	}
	return fmt.Errorf("witness calculators can't be compiled on %s/%s: expected arm64, or amd64 with SSE4.1", goos, goarch)
}

func (c *Calculator) open(ctx context.Context, wasm []byte, cacheDir string) error {
	metered, err := meter(wasm)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNotCalculator, err)
	}
	if cacheDir == "" {
		err = c.compile(ctx, metered, wazero.NewRuntimeConfigCompiler())
	} else {
		err = c.compileCached(ctx, metered, cacheDir)
	}
	if err != nil {
		return err
	}
	if err := checkModule(c.module); err != nil {
		return err
	}
	if least := int64(c.module.ExportedMemories()["memory"].Min()) * pageSize; least > c.limit {
		return fmt.Errorf("witness calculator starts with %d bytes of memory, the limit is %d", least, c.limit)
	}
	if err := linkHost(ctx, c.runtime); err != nil {
		return err
	}
	_, c.sized = c.module.ExportedFunctions()["getInputSignalSize"]
	return c.probe(ctx)
}

func (c *Calculator) compileCached(ctx context.Context, wasm []byte, cacheDir string) error {
	code, err := openCodeCache(cacheDir, wasm)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) { // a catalogue that is shared and not ours to write to
		return c.compile(ctx, wasm, wazero.NewRuntimeConfigCompiler())
	}
	if err != nil {
		return fmt.Errorf("cache of compiled witness calculators: %w", err)
	}
	defer code.discard()
	if c.cache, err = wazero.NewCompilationCacheWithDir(code.dir); err != nil {
		return fmt.Errorf("cache of compiled witness calculators: %w", err)
	}
	if err := c.compile(ctx, wasm, wazero.NewRuntimeConfigCompiler().WithCompilationCache(c.cache)); err != nil {
		return err
	}
	if err := code.seal(); err != nil && !errors.Is(err, fs.ErrNotExist) { // not there: another process cleared it away
		return fmt.Errorf("cache of compiled witness calculators: %w", err)
	}
	return nil
}

// compile turns a panic of wazero into an error: the module is not ours. One goroutine compiles, because another's panic can't be caught.
func (c *Calculator) compile(ctx context.Context, wasm []byte, config wazero.RuntimeConfig) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: the compiler fails on it: %v", ErrNotCalculator, p)
		}
	}()
	c.runtime = wazero.NewRuntimeWithConfig(ctx, config.WithDebugInfoEnabled(false))
	if c.module, err = c.runtime.CompileModule(ctx, wasm); err != nil {
		return fmt.Errorf("%w: %w", ErrNotCalculator, err)
	}
	return nil
}

// probe asks the module for its constants.
func (c *Calculator) probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	x, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer x.close()

	version, err := x.call("getVersion")
	if err != nil {
		return err
	}
	if version != 2 {
		return fmt.Errorf("%w: it says that circom %d made it", ErrNotCalculator, version)
	}
	if c.curve, err = x.field(); err != nil {
		return err
	}
	if c.vars, err = x.count("getWitnessSize"); err != nil {
		return err
	}
	if c.inputs, err = x.count("getInputSize"); err != nil {
		return err
	}
	if c.vars == 0 {
		return fmt.Errorf("%w: its witnesses are empty", ErrNotCalculator)
	}
	return nil
}

// Curve is the curve whose scalar field the circuit is over.
func (c *Calculator) Curve() groth16.Curve { return c.curve }

// Vars is the number of values of a witness, the constant one among them.
func (c *Calculator) Vars() int { return c.vars }

// Inputs is the number of values that the circuit's input signals take together.
func (c *Calculator) Inputs() int { return c.inputs }

// MemoryBytes is the most linear memory that a calculation has taken so far; before the first, what each starts with. A circuit's
// calculations all take about the same.
func (c *Calculator) MemoryBytes() int64 { return c.peak.Load() }

// Calculate computes the witness for inputs, in circom's JSON form, into dst: Vars values of 32 bytes, little-endian, each below the
// order of the field, the first one 1. ctx bounds the time, whatever the module does. After an error dst may hold part of a witness.
//
// The error is an [*InputError] if the inputs don't fit the circuit, an [*AssertError] if they don't satisfy it, and wraps ctx's error
// if that ended the calculation. No error holds values of the inputs or the witness.
func (c *Calculator) Calculate(ctx context.Context, inputs, dst []byte) error {
	if want := c.vars * groth16.ScalarSize; len(dst) != want {
		return fmt.Errorf("witness buffer of %d bytes, expected %d values of %d bytes", len(dst), c.vars, groth16.ScalarSize)
	}
	x, err := c.begin(ctx)
	if err != nil {
		return err
	}
	defer x.close()
	if _, err := x.call("init", 1); err != nil {
		return err
	}
	signals, err := decodeInputs(inputs, c.curve, c.inputs, x)
	if err != nil {
		return err
	}
	if err := x.setInputs(signals); err != nil {
		return err
	}
	return x.readWitness(dst)
}

// Close frees the compiled code. No calculation may be running, and none may follow.
func (c *Calculator) Close(ctx context.Context) error {
	var err error
	if c.runtime != nil {
		err = c.runtime.Close(ctx)
	}
	if c.cache != nil {
		err = errors.Join(err, c.cache.Close(ctx))
	}
	return err
}

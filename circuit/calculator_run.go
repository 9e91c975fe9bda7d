package circuit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/pinion-zk/pinion/groth16"
	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
)

const maxMessage = 4096 // bytes of the messages that come with a failed assertion

// An AssertError tells that the inputs don't satisfy an assertion of the circuit: === or assert.
type AssertError struct {
	Message string // where, as the calculator prints it: "Error in template Multiplier_0 line: 7", the callers after it
}

func (e *AssertError) Error() string {
	if e.Message == "" {
		return "an assertion of the circuit failed"
	}
	return "an assertion of the circuit failed: " + e.Message
}

// A calculation is one instance of a calculator's module, used once by one goroutine.
type calculation struct {
	ctx     context.Context // of this one calculation, with itself inside for the functions that the module imports
	memory  *linearMemory
	module  api.Module
	stack   [3]uint64
	message strings.Builder
	owner   *Calculator
}

type calculationKey struct{}

// running is the calculation that calls a host function.
func running(ctx context.Context) *calculation {
	return ctx.Value(calculationKey{}).(*calculation)
}

// begin makes an instance. The caller must close it.
func (c *Calculator) begin(ctx context.Context) (*calculation, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("witness calculator stopped: %w", err)
	}
	memory, err := newLinearMemory(c.limit)
	if err != nil {
		return nil, err
	}
	x := &calculation{memory: memory, owner: c}
	x.ctx = context.WithValue(ctx, calculationKey{}, x)
	config := wazero.NewModuleConfig().WithName("").WithStartFunctions()
	if x.module, err = c.runtime.InstantiateModule(memory.with(x.ctx), c.module, config); err != nil {
		err = x.failure(err)
		x.close()
		return nil, err
	}
	return x, nil
}

func (x *calculation) close() {
	if x.module != nil {
		x.module.Close(context.WithoutCancel(x.ctx))
	}
	for size := int64(x.memory.size); ; {
		peak := x.owner.peak.Load()
		if size <= peak || x.owner.peak.CompareAndSwap(peak, size) {
			break
		}
	}
	_ = x.memory.unmap() // it fails for a bad address only
}

// call runs a function of the module and returns its result, if it has one.
func (x *calculation) call(name string, params ...uint64) (uint32, error) {
	return x.invoke(x.module.ExportedFunction(name), params...)
}

func (x *calculation) invoke(f api.Function, params ...uint64) (uint32, error) {
	copy(x.stack[:], params)
	if err := f.CallWithStack(x.ctx, x.stack[:]); err != nil {
		return 0, x.failure(err)
	}
	return uint32(x.stack[0]), nil
}

// field finds the buffer for elements, and the curve by the order of its scalar field.
func (x *calculation) field() (groth16.Curve, error) {
	words, err := x.call("getFieldNumLen32")
	if err != nil {
		return 0, err
	}
	if words != groth16.ScalarSize/4 {
		return 0, fmt.Errorf("%w: its field elements have %d words of 32 bits, expected %d", ErrNotCalculator, words, groth16.ScalarSize/4)
	}
	if _, err := x.call("getRawPrime"); err != nil {
		return 0, err
	}
	buffer, err := x.buffer()
	if err != nil {
		return 0, err
	}
	if curve, known := curveOfScalars(buffer); known {
		return curve, nil
	}
	return 0, fmt.Errorf("%w: its field is neither bn128's nor bls12381's", ErrNotCalculator)
}

// buffer is the module's memory for the element that passes in or out. It is valid until the module's memory grows.
func (x *calculation) buffer() ([]byte, error) {
	start, err := x.call("getSharedRWMemoryStart")
	if err != nil {
		return nil, err
	}
	buffer, ok := x.module.Memory().Read(start, groth16.ScalarSize)
	if !ok {
		return nil, fmt.Errorf("%w: its buffer at %d lies outside of its memory", ErrNotCalculator, start)
	}
	return buffer, nil
}

// count is what a function of the module says about its size. The module's memory must have room to list as many indices: of the
// values of the witness, or of the flags of inputs that are set.
func (x *calculation) count(name string) (int, error) {
	n, err := x.call(name)
	if err != nil {
		return 0, err
	}
	if memory := x.module.Memory().Size(); n > memory/4 {
		return 0, fmt.Errorf("%w: %s says %d, which its memory of %d bytes has no room for", ErrNotCalculator, name, n, memory)
	}
	return int(n), nil
}

// address is where the module looks a signal up: the two halves of the FNV-1a hash of its name.
func address(name string) (high, low uint64) {
	h := fnv.New64a()
	h.Write([]byte(name))
	sum := h.Sum64()
	return sum >> 32, sum & 0xffffffff
}

// size is the number of values of a signal: see signalTable.
func (x *calculation) size(name string) (int, error) {
	if !x.owner.sized {
		return -1, nil
	}
	high, low := address(name)
	n, err := x.call("getInputSignalSize", high, low)
	return int(int32(n)), err
}

// setInputs hands the values to the module, which computes the witness as soon as it has the last.
func (x *calculation) setInputs(signals []signal) error {
	buffer, err := x.buffer()
	if err != nil {
		return err
	}
	set := x.module.ExportedFunction("setInputSignal")
	for _, s := range signals {
		high, low := address(s.name)
		for i := range len(s.values) / groth16.ScalarSize {
			copy(buffer, s.values[i*groth16.ScalarSize:])
			if _, err := x.invoke(set, high, low, uint64(i)); err != nil {
				if e, ok := errors.AsType[*InputError](err); ok {
					e.Signal = s.name
				}
				return err
			}
		}
	}
	return nil
}

// readWitness copies the values of the witness out, and checks each.
func (x *calculation) readWitness(dst []byte) error {
	buffer, err := x.buffer()
	if err != nil {
		return err
	}
	get := x.module.ExportedFunction("getWitness")
	for i := range x.owner.vars {
		if _, err := x.invoke(get, uint64(i)); err != nil {
			return err
		}
		copy(dst[i*groth16.ScalarSize:], buffer)
	}
	if bad, err := x.owner.curve.CheckScalars(dst); err != nil {
		return fmt.Errorf("witness calculator: value %d of the witness: %w", bad, err)
	}
	if one := (&scalar{1}).appendTo(nil); !bytes.Equal(dst[:len(one)], one) {
		return errors.New("witness calculator: value 0 of the witness is not 1")
	}
	return nil
}

// An exception is how the module gives up.
type exception struct{ code uint32 }

func (e *exception) Error() string { return fmt.Sprintf("exception %d", e.code) }

// raise ends the calculation: by a panic, because the module's code doesn't go on after it. wazero makes it the call's error.
// A tick of the meter ends it only if the context has ended.
func (x *calculation) raise(code uint32) {
	if code != meterTick {
		panic(&exception{code})
	}
	if err := x.ctx.Err(); err != nil {
		panic(err)
	}
}

// noteMessage takes one of the messages that come before a failed assertion.
func (x *calculation) noteMessage() {
	if x.module == nil || x.message.Len() >= maxMessage { // no module yet: in its start function, which circom doesn't make
		return
	}
	next := x.module.ExportedFunction("getMessageChar")
	if next == nil {
		return
	}
	if x.message.Len() > 0 {
		x.message.WriteString(", ")
	}
	var char [1]uint64
	for x.message.Len() < maxMessage {
		if err := next.CallWithStack(x.ctx, char[:]); err != nil {
			panic(err)
		}
		switch c := byte(char[0]); {
		case c == 0:
			return
		case ' ' <= c && c <= '~':
			x.message.WriteByte(c)
		}
	}
}

// failure says what ended a call of the module.
func (x *calculation) failure(err error) error {
	if e := (*exception)(nil); errors.As(err, &e) {
		return x.exceptionError(e.code)
	}
	if ctxErr := x.ctx.Err(); ctxErr != nil {
		return fmt.Errorf("witness calculator stopped: %w", ctxErr)
	}
	first, _, _ := strings.Cut(err.Error(), "\n") // a stack trace follows
	return fmt.Errorf("witness calculator: %s", first)
}

// exceptionError is the meaning of circom's exception codes.
func (x *calculation) exceptionError(code uint32) error {
	switch code {
	case 1:
		return &InputError{Reason: "not an input of the circuit"}
	case 2:
		return &InputError{Reason: "given after the circuit had all its values"}
	case 3:
		return &InputError{Reason: "given twice"}
	case 4:
		return &AssertError{x.message.String()}
	case 5:
		return fmt.Errorf("witness calculator: out of memory, the limit is %d bytes", x.owner.limit)
	case 6:
		return &InputError{Reason: "more values than the circuit takes"}
	case 7:
		return &AssertError{strings.TrimPrefix(x.message.String()+", array index out of bounds", ", ")}
	}
	return fmt.Errorf("witness calculator: unknown exception %d", code)
}

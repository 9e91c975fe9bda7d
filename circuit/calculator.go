package circuit

import (
	"context"
	"errors"
	"fmt"

	"github.com/pinion-zk/pinion/groth16"
)

// ErrNotCalculator is wrapped by NewCalculator's errors for a file that isn't the witness calculator of a circom 2 circuit.
var ErrNotCalculator = errors.New("no circom 2 witness calculator")

// An AssertError tells that the inputs don't satisfy an assertion (=== or assert) of the circuit.
type AssertError struct {
	Message string // what the calculator printed: where in the circuit's source
}

func (e *AssertError) Error() string { return "assertion of the circuit failed: " + e.Message }

// An InputError tells which input signal is at fault, and why. It never holds a value.
type InputError struct {
	Signal string // the signal's name; empty where no single signal is at fault
	Reason string
}

func (e *InputError) Error() string {
	if e.Signal == "" {
		return "inputs: " + e.Reason
	}
	return fmt.Sprintf("input signal %q: %s", e.Signal, e.Reason)
}

// CalculatorOptions say where compiled code is kept and how much memory a calculation may take.
type CalculatorOptions struct {
	CacheDir    string // compiled code, reused by later processes; empty: none is kept
	MemoryLimit int64  // bytes of linear memory for each calculation; 0: 1 GiB
}

// A Calculator computes the witnesses of one circuit. It is safe for concurrent use.
type Calculator struct {
	curve        groth16.Curve
	vars, inputs int
}

// NewCalculator compiles the WebAssembly module that circom 2 wrote for a circuit.
func NewCalculator(ctx context.Context, wasm []byte, opt CalculatorOptions) (*Calculator, error) {
	return nil, ErrNotCalculator
}

// Curve is the curve whose scalar field the circuit is over.
func (c *Calculator) Curve() groth16.Curve { return c.curve }

// Vars is the number of values of a witness, the constant one among them.
func (c *Calculator) Vars() int { return c.vars }

// Inputs is the number of values that the circuit's input signals take together.
func (c *Calculator) Inputs() int { return c.inputs }

// Calculate computes the witness for inputs (circom's inputs JSON) into dst, Vars x 32 bytes, little-endian, each < r.
func (c *Calculator) Calculate(ctx context.Context, inputs, dst []byte) error {
	return ErrNotCalculator
}

// Close frees the compiled code. No calculation may be running.
func (c *Calculator) Close(ctx context.Context) error { return nil }

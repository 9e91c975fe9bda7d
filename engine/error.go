package engine

import (
	"context"
	"errors"
	"fmt"
)

// A Code says why a job failed, in the words of Result v1.
type Code string

const (
	CodeInvalidWitness Code = "invalid_witness"   // the witness file is malformed, of another circuit, or doesn't satisfy the circuit
	CodeUnsatisfied    Code = "unsatisfied"       // a constraint, or an assertion of the circuit, that the witness doesn't satisfy is known
	CodeInvalidInputs  Code = "invalid_inputs"    // the inputs JSON is malformed, or not what the circuit takes
	CodeUnknownCircuit Code = "unknown_circuit"   // no circuit of that name here
	CodeWrongDigest    Code = "wrong_digest"      // the circuit of that name here has another digest
	CodeForgeable      Code = "forgeable_circuit" // the circuit's key has no phase-2 contribution, and isn't allowed by name
	CodeTooLarge       Code = "too_large"         // the job needs more memory than there is in all
	CodeMemory         Code = "memory"            // the device found less memory than it said that it has: others use it too
	CodeCalculator     Code = "calculator"        // inputs were sent, but the circuit has no witness calculator that runs, or it exceeded the limits
	CodeDeviceFault    Code = "device_fault"      // the device failed or answered wrongly
	CodeCancelled      Code = "cancelled"         // the job's context was cancelled
	CodeDeadline       Code = "deadline"          // the deadline of the job's context passed
	CodeInternal       Code = "internal"          // anything else: a file that can't be read, a source that breaks off, a closed engine
)

// An Error is how every failed job ends: Admit, Prove and Preload return no other kind.
type Error struct {
	Code  Code
	Retry bool // the same job may succeed here later, or on another worker
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Code, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// ErrClosed is wrapped by the error of a job that came after Close.
var ErrClosed = errors.New("the engine is closed")

// fail makes an Error of err, unless it is one already.
func fail(code Code, retry bool, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		return known
	}
	return &Error{Code: code, Retry: retry, Err: err}
}

// within is fail, and says in the text what failed.
func within(what string, code Code, retry bool, err error) error {
	if known, ok := errors.AsType[*Error](err); ok {
		code, retry, err = known.Code, known.Retry, known.Err
	}
	return &Error{Code: code, Retry: retry, Err: fmt.Errorf("%s: %w", what, err)}
}

// interrupted returns the Error of a context that is done, nil for one that isn't. The cause is kept, so that
// a caller finds its own reason for cancelling.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &Error{Code: CodeDeadline, Err: context.Cause(ctx)}
	}
	return &Error{Code: CodeCancelled, Err: context.Cause(ctx)}
}

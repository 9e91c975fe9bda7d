package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/pool"
	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailure     = 1
	exitUsage       = 2
	exitInput       = 3
	exitRefused     = 4
	exitUnavailable = 5
	exitInterrupted = 130
)

const exitHelp = `Exit codes: 0 done; 1 failure; 2 usage or configuration; 3 bad input (a file, a witness, a circuit's name); ` +
	`4 refused (an invalid proof, a job without proofs, a forgeable key); 5 unavailable (broker, memory, device, time); 130 interrupted.`

// usageError is a mistake on the command line or in the environment.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// inputError is something wrong with what the user gave to a command.
type inputError struct{ err error }

func (e *inputError) Error() string { return e.err.Error() }
func (e *inputError) Unwrap() error { return e.err }

// exitCode sorts an error into one of the exit codes. An engine's error has its own code, whatever it wraps.
func exitCode(err error) int {
	job, ofEngine := errors.AsType[*engine.Error](err)
	switch {
	case err == nil:
		return exitOK
	case ofEngine:
		return jobExit(job)
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case isA[*usageError](err), isA[*service.VariableError](err):
		return exitUsage
	case isInput(err):
		return exitInput
	case errors.Is(err, groth16.ErrInvalidProof), isA[*jobError](err):
		return exitRefused
	case isUnavailable(err):
		return exitUnavailable
	}
	return exitFailure
}

func jobExit(err *engine.Error) int {
	switch err.Code {
	case engine.CodeForgeable:
		return exitRefused
	case engine.CodeTooLarge, engine.CodeDeviceFault, engine.CodeDeadline:
		return exitUnavailable
	case engine.CodeCancelled:
		return exitInterrupted
	case engine.CodeInternal:
		if isInput(err.Err) {
			return exitInput
		}
		return exitFailure
	default:
		return exitInput
	}
}

func isUnavailable(err error) bool {
	return isOneOf(err, context.DeadlineExceeded, nats.ErrTimeout, nats.ErrPermissionViolation, nats.ErrConnectionClosed, nats.ErrNoResponders,
		queue.ErrNotProvisioned, queue.ErrNoPlace, queue.ErrQueueFull, queue.ErrNoResult, gpu.ErrNoLibrary, gpu.ErrNoCard, gpu.ErrInUse, gpu.ErrMemory, gpu.ErrFault) ||
		isA[*pool.ExceedsError](err) || isA[*service.BrokerError](err) || isA[*gpu.VersionError](err)
}

func isInput(err error) bool {
	return isOneOf(err, fs.ErrNotExist, fs.ErrPermission, circuit.ErrUnknownCircuit, circuit.ErrDigestMismatch, circuit.ErrExists,
		circuit.ErrAmbiguous, circuit.ErrNoCalculator, circuit.ErrNotCalculator, queue.ErrUnknownCircuit, queue.ErrUnknownJob, queue.ErrNoDeadLetter, queue.ErrIDConflict,
		queue.ErrTooLarge, queue.ErrMalformed, queue.ErrCircuitConflict, queue.ErrCircuitDamaged, service.ErrNoWorker) ||
		isA[*inputError](err) || isA[*circuit.FormatError](err) || isA[*circuit.InputError](err) || isA[*circuit.AssertError](err) ||
		isA[*circuit.UnsatisfiedError](err)
}

func isOneOf(err error, targets ...error) bool {
	for _, t := range targets {
		if errors.Is(err, t) {
			return true
		}
	}
	return false
}

func isA[T error](err error) bool {
	_, ok := errors.AsType[T](err)
	return ok
}

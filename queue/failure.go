package queue

import (
	"errors"
	"fmt"
	"time"
)

// Code says why a job ended without proofs. Handlers may use codes of their
// own; these are the queue's.
type Code string

// Codes that the queue itself gives.
const (
	CodeInvalidJob     Code = "invalid_job"      // can't be decoded, or breaks a limit
	CodeInvalidReply   Code = "invalid_reply"    // reply subject outside the allowed prefixes
	CodeIDConflict     Code = "id_conflict"      // the id belongs to another job
	CodeAttempts       Code = "attempts"         // its workers died or failed MaxAttempts times
	CodeDeferrals      Code = "deferrals"        // handed on too often: no worker can take it
	CodeCancelled      Code = "cancelled"        // by a producer
	CodeDeadline       Code = "deadline"         // passed before the job was done
	CodeWitnessMissing Code = "witness_missing"  // the object isn't there
	CodeWitnessDigest  Code = "witness_digest"   // the object isn't what the job says
	CodeResultTooLarge Code = "result_too_large" // proofs and signals exceed MaxResultBytes
	CodeInternal       Code = "internal"         // the worker's fault
)

// Failure is the error with which a [Handler] ends a job or its attempt, and
// the err of a [Result].
type Failure struct {
	Code Code
	Msg  string // for people; never holds a witness value
	// Retry asks for another attempt, as long as there are some left. In a
	// result: the same job, under a new id, may succeed.
	Retry bool
	// Err is the cause; it stays in the process.
	Err error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %s", f.Code, f.Msg) }
func (f *Failure) Unwrap() error { return f.Err }

// Defer is the error with which a [Handler] hands a job on that it can't take
// now: it comes back, to any worker, after the given time. No attempt is
// burned. After [WorkerConfig].MaxDeferrals the job fails with Reason.
type Defer struct {
	After  time.Duration
	Reason string // for people: what would be needed, what is there
}

func (d *Defer) Error() string { return fmt.Sprintf("deferred by %s: %s", d.After, d.Reason) }

// Errors of this package that a caller decides on.
var (
	// ErrIDConflict: the id belongs to another job (other bytes, or another
	// subject).
	ErrIDConflict = errors.New("queue: job id is taken by another job")
	// ErrQueueFull: the work queue is at its limit. Submit again later, with
	// the same id.
	ErrQueueFull = errors.New("queue: work queue is full")
	// ErrTooLarge: the job, or its result, exceeds the message limit.
	ErrTooLarge = errors.New("queue: message too large")
	// ErrNoResult: no result is stored for the job (yet, or any more).
	ErrNoResult = errors.New("queue: no result")
	// ErrNoDeadLetter: the job has no dead letter (any more).
	ErrNoDeadLetter = errors.New("queue: no dead letter")
	// ErrUnknownJob: nothing is known of the job.
	ErrUnknownJob = errors.New("queue: unknown job")
	// ErrUnknownCircuit: no circuit is registered under the name.
	ErrUnknownCircuit = errors.New("queue: unknown circuit")
	// ErrCircuitConflict: the name is registered with another digest.
	ErrCircuitConflict = errors.New("queue: circuit name is registered with another digest")
	// ErrCircuitDamaged: an object of the circuit isn't there, or isn't what
	// it was when it was stored.
	ErrCircuitDamaged = errors.New("queue: circuit is damaged in the bucket")
	// ErrNoPlace: the broker, or its cluster, can't keep what is asked for.
	ErrNoPlace = errors.New("queue: no place on the broker")
	// ErrNotProvisioned: a stream, consumer or bucket is missing.
	ErrNotProvisioned = errors.New("queue: not provisioned")
	// ErrMalformed: bytes that are no message of this contract.
	ErrMalformed = errors.New("queue: malformed message")
)

// Causes (context.Cause) with which a worker ends the context of a job.
var (
	// ErrLeaseLost: another worker has the job, or may have it.
	ErrLeaseLost = errors.New("queue: lease lost")
	// ErrCancelled: a producer cancelled the job.
	ErrCancelled = errors.New("queue: job cancelled")
	// ErrExpired: the job's deadline has passed.
	ErrExpired = errors.New("queue: job deadline passed")
	// ErrDrained: the worker is shutting down and its grace time is over.
	ErrDrained = errors.New("queue: worker is shutting down")
)

package engine

import (
	"context"

	"github.com/pinion-zk/pinion/circuit"
)

// An Engine proves jobs. It is safe for concurrent use.
type Engine struct {
	config Config
}

// New starts an engine.
func New(config Config) *Engine { return &Engine{config: config} }

// Admit resolves the request's circuit, waits until all the memory that the job will need is reserved (first come, first served),
// and loads the circuit if need be. A job that can't be served is refused at once. The caller must Close the job.
func (e *Engine) Admit(ctx context.Context, req Request) (*Job, error) { return nil, nil }

// Prove is Admit, Job.Prove and Job.Close.
func (e *Engine) Prove(ctx context.Context, req Request) (*Outcome, error) { return nil, nil }

// Preload loads a circuit, so that its first job doesn't wait for that. It stays until its memory is needed elsewhere.
func (e *Engine) Preload(ctx context.Context, ref circuit.Ref) error { return nil }

// Healthy returns nil, or why the device isn't trusted any more: jobs are refused then, with a device_fault that others may retry.
func (e *Engine) Healthy() error { return nil }

// Stats returns what was counted since New.
func (e *Engine) Stats() Stats { return Stats{} }

// Close stops admitting, waits for the jobs that were admitted, and unloads all circuits.
// If ctx ends first it returns its error, and the circuits in use stay loaded.
func (e *Engine) Close(ctx context.Context) error { return nil }

// A Job is a request that was admitted. Its methods are called by one goroutine.
type Job struct{}

// Prove makes the job's proofs, and checks each. It is called once. Until the device has begun, it stops promptly when ctx ends; then it
// waits for the device, since that reads the job's buffers.
func (j *Job) Prove(ctx context.Context) (*Outcome, error) { return nil, nil }

// Close gives back all that the job holds. It may be called more than once.
func (j *Job) Close() {}

// Stats are counters since the engine's start, but for Circuits and Running.
type Stats struct {
	Proofs       int64 // proofs that left, verified
	Wrong        int64 // proofs that the device made and that didn't verify
	Again        int64 // jobs whose proofs were made again
	DeviceFaults int64 // errors of the device, and wrong answers that weren't the witness's fault
	Loads        int64 // circuits loaded
	Evictions    int64 // circuits unloaded because their memory was needed elsewhere
	Circuits     int   // circuits loaded now
	Running      int   // jobs admitted now
}

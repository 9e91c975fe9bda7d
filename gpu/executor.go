package gpu

import (
	"context"
	"errors"

	"github.com/pinion-zk/pinion/groth16"
)

var (
	// ErrClosed is the end of a task that had not begun when the executor was closed, and of all that come later.
	ErrClosed = errors.New("gpu: executor closed")
	// ErrUnhealthy is the end of a task on a device that has failed for good. Executor.Healthy says how it failed.
	ErrUnhealthy = errors.New("gpu: device unhealthy")
	// ErrInUse refuses a second executor on a device.
	ErrInUse = errors.New("gpu: device already has an executor")
)

// Executor owns a device: its one goroutine, locked to its OS thread, is the only one that calls it.
// The methods are safe for concurrent use.
type Executor struct{}

// NewExecutor starts an executor on dev, which it owns from now on, with room for queue tasks that wait.
// It fails with ErrInUse when the device has one already.
func NewExecutor(dev Device, queue int) (*Executor, error) { panic("soon") }

// Info describes the device.
func (e *Executor) Info() Info { panic("soon") }

// Footprint says what a key will take.
func (e *Executor) Footprint(pk *groth16.ProvingKey) (Footprint, error) { panic("soon") }

// Load makes a key ready, after the tasks that were submitted before.
func (e *Executor) Load(ctx context.Context, pk *groth16.ProvingKey) (Key, error) { panic("soon") }

// Unload gives a key back, once the tasks that use it are done.
func (e *Executor) Unload(ctx context.Context, k Key) error { panic("soon") }

// Submit puts a task into the queue, and blocks while that is full. Until the task begins, the end of ctx takes it out of the
// queue, and it never starts; later it has no effect.
func (e *Executor) Submit(ctx context.Context, t *Task) (*Ticket, error) { panic("soon") }

// Healthy is nil, or the fault after which the device takes no more tasks.
func (e *Executor) Healthy() error { panic("soon") }

// Queued is the number of tasks that wait.
func (e *Executor) Queued() int { panic("soon") }

// Close refuses new tasks, fails those that wait with ErrClosed, lets those that have begun finish, and closes the device.
// When ctx ends first it returns the context's error, and the rest goes on.
func (e *Executor) Close(ctx context.Context) error { panic("soon") }

package gpu

import (
	"github.com/pinion-zk/pinion/groth16"
)

// Device makes proofs. An Executor calls it, its keys and its runs from one goroutine, locked to its thread: all methods but those
// that say otherwise. None of them waits for a proof.
//
// An error that wraps ErrFault says that the device is lost; any other is the end of that one call or task. A Device is a pointer:
// executors tell devices apart by identity.
type Device interface {
	// Info describes the device. It never changes, and may be asked for from any goroutine.
	Info() Info
	// Footprint says what a key will take, before it is loaded. It may be called from any goroutine.
	Footprint(pk *groth16.ProvingKey) (Footprint, error)
	// Load makes a key ready to prove with. pk stays in use until the key is unloaded.
	Load(pk *groth16.ProvingKey) (Key, error)
	// Begin enqueues the task and returns. An error says that nothing of it was started.
	Begin(t *Task) (Run, error)
	// Close gives everything back, once every run is done and every key unloaded.
	Close() error
}

// Info describes a device.
type Info struct {
	Name      string
	Kind      Kind
	Memory    int64     // bytes of its own; 0 when it works in host memory
	Synthesis Synthesis // what it is best given
	Overlap   int       // tasks that may be begun at once: the next is uploaded while this one is computed
}

// Kind is what a device is made of.
type Kind string

const (
	CPU  Kind = "cpu"
	CUDA Kind = "cuda"
)

// Synthesis says where a = A.w and b = B.w are computed.
type Synthesis string

const (
	OnHost   Synthesis = "host"   // inputs carry A and B
	OnDevice Synthesis = "device" // inputs carry the witness only
)

// Footprint is memory in bytes: Key and Task of the device (Info.Memory), or of the host where the device has none of its own.
type Footprint struct {
	Key   int64 // while the key is loaded, beside the mapped key
	Task  int64 // while a task is computed, beside its inputs, however many they are
	Host  int64 // of the host, for a device with memory of its own, while the key is loaded
	Load  int64 // of the host, and more, while it is being loaded
	Batch int   // not memory: the inputs that are computed at once, at least 1. A task of more is computed in parts.
}

// Key is a proving key that is ready on a device.
type Key interface {
	// Bytes is what it takes: Footprint.Key. It may be called from any goroutine.
	Bytes() int64
	// Unload gives it all back. No task may use the key any longer. It is called from the executor's goroutine: use Executor.Unload.
	Unload() error
}

// Task is one or more proofs with one key.
type Task struct {
	Key    Key
	Inputs []Input
}

// Input is what one proof is made of. The buffers belong to the task from Submit until Uploaded, or until its end.
type Input struct {
	Witness []byte // Vars x 32 bytes, little-endian, canonical; the first is 1
	A, B    []byte // Domain x 32 bytes, little-endian, Montgomery, overwritten by the device; both nil: the device synthesizes
}

// Run is a task that has begun.
type Run interface {
	// Uploaded may be called from any goroutine, and Done too. It is closed when the buffers of the inputs are no longer read or written: they may serve another task.
	Uploaded() <-chan struct{}
	// Done is closed when the result is there; the buffers are no longer in use then either.
	Done() <-chan struct{}
	// Result is the proofs, in the order of the inputs, or why there are none. It is called once, after Done is closed. A proof that the
	// device got so wrong that it can't be one is nil.
	Result() ([]*groth16.Proof, Timings, error)
}

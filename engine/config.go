package engine

import (
	"go.opentelemetry.io/otel/trace"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// Synthesis says where the matrices of a circuit are multiplied with the witness.
type Synthesis string

const (
	SynthesisAuto   Synthesis = ""       // where the device prefers it
	SynthesisHost   Synthesis = "host"   // by this machine's cores, into buffers that the device reads
	SynthesisDevice Synthesis = "device" // by the device: only the witness crosses over
)

// Config is what an engine works with. The caller keeps ownership of what it hands in, and closes it after the engine.
type Config struct {
	Catalogue *circuit.Catalogue // required: the circuits that are served
	Executor  *gpu.Executor      // required: the device
	Budget    *pool.Budget       // required: the host memory that jobs and loaded circuits may take
	Pool      *pool.Pool         // required: the buffers that the device reads; accounted in Budget

	Workers          int       // jobs in witness and synthesis at once; default 2
	Batch            int       // witnesses that are handed to the device as one task, at most; default 8
	Synthesis        Synthesis // default SynthesisAuto
	AllowForgeable   []string  // names of circuits that are served although their key has no phase-2 contribution
	CalculatorMemory int64     // bytes reserved for a witness calculation: the catalogue's limit; default 1 GiB

	Tracer trace.Tracer // default: that of OpenTelemetry's global provider
}

const (
	defaultWorkers          = 2
	defaultBatch            = 8
	defaultCalculatorMemory = 1 << 30
	tracerName              = "github.com/pinion-zk/pinion/engine"
)

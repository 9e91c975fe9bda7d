package engine

import (
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/trace"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// Config is what an engine works with. The caller keeps ownership of what it hands in, and closes it after the engine.
type Config struct {
	Catalogue *circuit.Catalogue // required: the circuits that are served
	Executor  *gpu.Executor      // required: the device
	Budget    *pool.Budget       // required: the host memory that jobs and loaded circuits may take
	Pool      *pool.Pool         // required: the buffers that the device reads; accounted in Budget

	Workers          int           // jobs in witness and synthesis at once; default 2
	Synthesis        gpu.Synthesis // where the matrices are multiplied with the witness; default: what the device is best given
	AllowForgeable   []string      // names of circuits that are served although their key has no phase-2 contribution
	CalculatorMemory int64         // bytes reserved for a witness calculation: the catalogue's limit; default 1 GiB
	CalculatorTime   time.Duration // how long the calculation of one witness may take; default 10 minutes

	Tracer trace.Tracer // default: OpenTelemetry's global one
}

func (c Config) withDefaults() Config {
	if c.Workers <= 0 {
		c.Workers = 2
	}
	if c.Synthesis == "" {
		c.Synthesis = c.Executor.Info().Synthesis
	}
	if c.CalculatorMemory <= 0 {
		c.CalculatorMemory = 1 << 30
	}
	if c.CalculatorTime <= 0 {
		c.CalculatorTime = 10 * time.Minute
	}
	if c.Tracer == nil {
		c.Tracer = otel.Tracer("github.com/pinion-zk/pinion/engine")
	}
	return c
}

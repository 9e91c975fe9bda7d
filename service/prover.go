package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"

	"go.opentelemetry.io/otel/trace"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// memoryMargin is what an automatic budget leaves to the process itself: the Go heap, the broker, the prover's tables.
const memoryMargin = 256 << 20

// Prover is the engine with all that it works on, in this process. It knows no broker: pinion prove uses it too.
type Prover struct {
	Engine    *engine.Engine
	Catalogue *circuit.Catalogue

	budget   *pool.Budget // without that of messages, which is set aside
	pool     *pool.Pool
	executor *gpu.Executor
	jobs     int // most in hand
	hand     *hand
}

// NewProver opens the device and the catalogue, within the memory budget.
func (c *Config) NewProver(log *slog.Logger, tracer trace.Tracer) (*Prover, error) {
	device, memory, err := c.openDevice(log)
	if err != nil {
		return nil, err
	}
	p, err := c.proverOn(device, memory, log, tracer)
	if err != nil {
		return nil, errors.Join(err, device.Close())
	}
	return p, nil
}

// proverOn makes a prover on a device, which is the prover's unless it fails.
func (c *Config) proverOn(device gpu.Device, memory pool.Allocator, log *slog.Logger, tracer trace.Tracer) (*Prover, error) {
	catalogue, err := c.OpenCatalogue()
	if err != nil {
		return nil, err
	}
	total := int64(c.Memory)
	if total == 0 {
		if total, err = pool.HostLimit(memoryMargin); err != nil {
			return nil, fmt.Errorf("%sMEMORY=auto: %w", Prefix, err)
		}
	}
	jobs, tasks := c.Jobs.limits(device.Info(), total)
	messages := int64(jobs) * intakeBytes
	if messages >= total {
		return nil, fmt.Errorf("%sJOBS: the messages of %d jobs take %s, %sMEMORY is %s", Prefix, jobs, Size(messages), Prefix, Size(total))
	}
	executor, err := gpu.NewExecutor(device, jobs)
	if err != nil {
		return nil, err
	}
	executor.Patience(c.DeviceTime)
	p := &Prover{Catalogue: catalogue, budget: pool.NewBudget(total - messages), executor: executor, jobs: jobs, hand: newHand(tasks)}
	p.budget.OnFault(func(err error) { log.Error("memory accounting", "error", err) })
	p.pool = pool.NewPool(p.budget, memory)
	p.Engine = engine.New(engine.Config{
		Catalogue:        catalogue,
		Executor:         executor,
		Budget:           p.budget,
		Pool:             p.pool,
		Workers:          min(jobs, max(2, runtime.GOMAXPROCS(0))),
		Synthesis:        c.synthesis(),
		AllowForgeable:   c.Forgeable,
		CalculatorMemory: int64(c.Calculator),
		CalculatorTime:   c.Calculate,
		Tracer:           tracer,
	})
	log.Debug("memory budget", "bytes", total, "auto", c.Memory == 0)
	return p, nil
}

// OpenCatalogue opens the catalogue of circuits at c.Circuits.
func (c *Config) OpenCatalogue() (*circuit.Catalogue, error) {
	catalogue, err := circuit.OpenCatalogue(c.Circuits)
	if err != nil {
		return nil, fmt.Errorf("%sCIRCUITS: %w", Prefix, err)
	}
	catalogue.CalculatorMemory = int64(c.Calculator)
	return catalogue, nil
}

// synthesis is empty for auto: what the device is best given.
func (c *Config) synthesis() gpu.Synthesis {
	if c.Synthesis == "auto" {
		return ""
	}
	return gpu.Synthesis(c.Synthesis)
}

// Close waits for the jobs that were admitted, for as long as ctx allows, and gives everything back.
func (p *Prover) Close(ctx context.Context) error {
	return errors.Join(p.Engine.Close(ctx), p.executor.Close(ctx), p.pool.Close())
}

func (p *Prover) snapshot() snapshot {
	return snapshot{
		engine:  p.Engine.Stats(),
		pool:    p.pool.Stats(),
		budget:  p.budget,
		device:  p.executor,
		work:    p.executor.Stats(),
		healthy: p.healthy() == nil,
	}
}

// healthy returns nil while the device is trusted.
func (p *Prover) healthy() error { return errors.Join(p.executor.Healthy(), p.Engine.Healthy()) }

// weigh says what a job in hand is; see hand. Of a circuit that isn't loaded it isn't known how many witnesses the device computes at once.
func (p *Prover) weigh(ref circuit.Ref, witnesses int) (done func(), ok bool) {
	return p.hand.weigh(witnesses, p.Engine.Batch(ref))
}

package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/pinion-zk/pinion/pool"
)

// A cost is memory in bytes.
type cost struct {
	host    int64
	buffers []int // lengths of the pool's buffers, beside host
	device  int64
}

func (c cost) plus(d cost) cost {
	return cost{c.host + d.host, slices.Concat(c.buffers, d.buffers), c.device + d.device}
}

// A claim is memory that was reserved.
type claim struct {
	host, device *pool.Reservation // device is nil when the device works in host memory
}

// reserve waits for memory of the host, then of the device. Nobody who holds memory of the device waits for the host's, and those who
// hold both come to an end, so that none waits for ever.
func (e *Engine) reserve(ctx context.Context, c cost) (claim, error) {
	host, err := e.config.Pool.Reserve(ctx, c.host, c.buffers...)
	if err != nil {
		return claim{}, fmt.Errorf("host memory: %w", err)
	}
	if e.memory == nil {
		return claim{host: host}, nil
	}
	device, err := e.memory.Reserve(ctx, c.device)
	if err != nil {
		host.Close()
		return claim{}, fmt.Errorf("device memory: %w", err)
	}
	return claim{host, device}, nil
}

// fits refuses what can never be had, even with nothing else around.
func (e *Engine) fits(c cost) error {
	want := c.host
	for _, n := range c.buffers {
		want += e.config.Pool.Size(n)
	}
	if total := e.config.Budget.Total(); want > total {
		return fmt.Errorf("host memory: %w", &pool.ExceedsError{Want: want, Total: total})
	}
	if e.memory != nil && c.device > e.memory.Total() {
		return fmt.Errorf("device memory: %w", &pool.ExceedsError{Want: c.device, Total: e.memory.Total()})
	}
	return nil
}

// split moves a part to a claim of its own.
func (c claim) split(part cost) (claim, error) {
	host, err := c.host.Split(part.host)
	if err != nil || c.device == nil {
		return claim{host: host}, err
	}
	device, err := c.device.Split(part.device)
	if err != nil {
		host.Close()
		return claim{}, err
	}
	return claim{host, device}, nil
}

// close gives back what is left.
func (c claim) close() {
	if c.host != nil {
		c.host.Close()
	}
	if c.device != nil {
		c.device.Close()
	}
}

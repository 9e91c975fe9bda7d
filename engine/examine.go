package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/groth16"
)

// examine has the device prove a circuit whose answer is known. It returns what the device did wrong, if anything; err says why it
// couldn't be asked.
func (e *Engine) examine(ctx context.Context, curve groth16.Curve) (fault, err error) {
	k, err := newKnown(curve)
	if err != nil {
		return nil, fail(CodeInternal, true, err)
	}
	footprint, err := e.config.Executor.Footprint(k.key)
	if err != nil {
		return err, nil
	}
	sizes := e.slotSizes(k.key.Vars, k.key.Domain)
	memory, err := e.reserve(ctx, cost{buffers: sizes}.plus(e.keyCost(footprint)).plus(e.onDevice(footprint.Task)))
	if err != nil {
		return nil, e.hostError(ctx, err)
	}
	defer memory.close()
	slots, err := e.slotsOf(memory.host, 1, sizes)
	if err != nil {
		return nil, fail(CodeInternal, true, err)
	}
	defer slots[0].release()

	copy(slots[0].witness.Bytes(), k.witness)
	if s := slots[0]; s.a != nil {
		if err := k.key.Synthesize(ctx, k.witness, s.a.Bytes(), s.b.Bytes()); err != nil {
			return nil, e.hostError(ctx, err)
		}
	}
	fault = e.proveKnown(ctx, k, slots[0])
	if stop := interrupted(ctx); fault != nil && stop != nil {
		return nil, stop
	}
	if errors.Is(fault, gpu.ErrMemory) {
		return nil, e.deviceError(ctx, fault)
	}
	return fault, nil
}

// proveKnown returns nil when the device proves k.
func (e *Engine) proveKnown(ctx context.Context, k *known, s slot) (err error) {
	executor := e.config.Executor
	key, err := executor.Load(ctx, k.key)
	if err != nil {
		return fmt.Errorf("load: %w", err)
	}
	defer func() {
		if unload := executor.Unload(context.WithoutCancel(ctx), key); err == nil && unload != nil {
			err = fmt.Errorf("unload: %w", unload)
		}
	}()
	ticket, err := executor.Submit(ctx, &gpu.Task{Key: key, Inputs: []gpu.Input{s.input()}})
	if err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	proofs, _, err := ticket.Result()
	if err != nil {
		return err
	}
	if len(proofs) != 1 {
		return fmt.Errorf("the device made %d proofs of one witness", len(proofs))
	}
	return k.verifying.Verify(proofs[0], k.public)
}

package engine

import (
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// A slot is the buffers of one witness.
type slot struct {
	witness *pool.Buffer
	a, b    *pool.Buffer // nil where the device synthesizes
}

// newSlots takes n slots out of a lease.
func (e *Engine) newSlots(l *lease, n int) ([]slot, error) {
	return e.slotsOf(l.memory.host, n, e.slotSizes(l.resident.info.Vars, l.resident.info.Domain))
}

func (e *Engine) slotsOf(memory *pool.Reservation, n int, sizes []int) ([]slot, error) {
	slots := make([]slot, 0, n)
	for range n {
		var s slot
		for i, buffer := range []**pool.Buffer{&s.witness, &s.a, &s.b}[:len(sizes)] {
			b, err := e.config.Pool.Get(memory, sizes[i])
			if err != nil {
				for _, s := range append(slots, s) {
					s.release()
				}
				return nil, err
			}
			*buffer = b
		}
		slots = append(slots, s)
	}
	return slots, nil
}

// input is the slot as the device takes it.
func (s slot) input() gpu.Input {
	in := gpu.Input{Witness: s.witness.Bytes()}
	if s.a != nil {
		in.A, in.B = s.a.Bytes(), s.b.Bytes()
	}
	return in
}

func (s slot) release() {
	for _, b := range []*pool.Buffer{s.witness, s.a, s.b} {
		if b != nil {
			b.Release()
		}
	}
}

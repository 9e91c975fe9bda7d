package gpu

import (
	"errors"
	"fmt"
)

// Allocator makes host memory; that of package pool is one.
type Allocator interface {
	Alloc(n int) ([]byte, error)
	Free(b []byte) error
}

// Pinned makes page-locked memory, which a card copies from by itself, at the full speed of the bus. It is safe for concurrent use,
// beside the executor, and may be used up to the end of the process, also when the card is closed.
//
// The memory comes from another allocator and is locked: mapping huge pages, touching them from all cores and locking them is a
// fraction of the time that the driver takes for memory of its own, with the same bandwidth.
type Pinned struct {
	lib     *library
	ordinal int32
	memory  Allocator
}

// Pinned returns the allocator of page-locked memory for the card, made of memory's.
func (c *Card) Pinned(memory Allocator) *Pinned {
	return &Pinned{lib: c.lib, ordinal: c.ordinal, memory: memory}
}

// Alloc returns memory as the underlying allocator does, page-locked.
func (p *Pinned) Alloc(n int) ([]byte, error) {
	mem, err := p.memory.Alloc(n)
	if err != nil {
		return nil, err
	}
	var e cError
	if err := e.err(p.lib.hostRegister(p.ordinal, &mem[0], uint64(len(mem)), 0, &e)); err != nil {
		return nil, errors.Join(fmt.Errorf("page-lock %d bytes: %w", n, err), p.memory.Free(mem))
	}
	return mem, nil
}

// Free unlocks the memory and gives it back. Memory that can't be unlocked stays: a card might still use its pages.
func (p *Pinned) Free(b []byte) error {
	var e cError
	if err := e.err(p.lib.hostUnregister(p.ordinal, &b[0], &e)); err != nil {
		return fmt.Errorf("unlock %d bytes: %w", len(b), err)
	}
	return p.memory.Free(b)
}

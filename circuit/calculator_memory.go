package circuit

import (
	"context"
	"fmt"

	"github.com/tetratelabs/wazero/experimental"
	"golang.org/x/sys/unix"
)

// linearMemory is the memory of one calculation. It lies outside of Go's heap, so that it is the system's again, and cleared, as soon
// as the calculation ends. Address space is taken for the limit at once, memory only for what is used.
type linearMemory struct {
	region []byte
	size   int
}

func newLinearMemory(limit int64) (*linearMemory, error) {
	region, err := unix.Mmap(-1, 0, int(limit), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("witness calculator: memory of %d bytes: %w", limit, err)
	}
	return &linearMemory{region: region}, nil
}

// with makes ctx one in which a module is instantiated on this memory.
func (m *linearMemory) with(ctx context.Context) context.Context {
	allocate := func(_, _ uint64) experimental.LinearMemory { return m }
	return experimental.WithMemoryAllocator(ctx, experimental.MemoryAllocatorFunc(allocate))
}

// Reallocate gives the first size bytes; nil, over the limit or if the system has no more, makes the module's memory.grow fail.
func (m *linearMemory) Reallocate(size uint64) []byte {
	if size > uint64(len(m.region)) || unix.Mprotect(m.region[:size], unix.PROT_READ|unix.PROT_WRITE) != nil {
		return nil
	}
	m.size = int(size)
	return m.region[:size:size]
}

// Free does nothing: who made the memory unmaps it, when no code of the module can be running.
func (m *linearMemory) Free() {}

func (m *linearMemory) unmap() error { return unix.Munmap(m.region) }

package pool

import (
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Allocator makes the memory of a pool. Both methods are called from the goroutine that needs the memory, without any lock held,
// and have to be safe for concurrent use.
type Allocator interface {
	// Alloc returns n zero bytes that are backed by memory already; n is a multiple of 4 KiB.
	Alloc(n int) ([]byte, error)
	// Free takes back exactly what Alloc returned. If it fails, the memory counts as still there.
	Free(b []byte) error
}

// HugePages allocates anonymous memory outside the Go heap, in huge pages where the kernel has them, and left out of core dumps,
// since witnesses lie in it.
type HugePages struct{}

// Alloc maps n bytes and makes the kernel back them at once, so that too little memory is an error here and not a signal later.
func (HugePages) Alloc(n int) ([]byte, error) {
	mem, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", n, err)
	}
	if err = advise(mem); err == nil {
		err = populate(mem)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("back %d bytes: %w", n, err), unix.Munmap(mem))
	}
	return mem, nil
}

// Free unmaps what Alloc returned.
func (HugePages) Free(b []byte) error { return unix.Munmap(b) }

// populate faults the pages in from several threads: zeroing them is what takes the time.
func populate(mem []byte) error {
	const part = 16 * hugePageSize
	var faults errgroup.Group
	faults.SetLimit(runtime.GOMAXPROCS(0))
	for lo := 0; lo < len(mem); lo += part {
		chunk := mem[lo:min(lo+part, len(mem))]
		faults.Go(func() error { return fault(chunk) })
	}
	return faults.Wait()
}

// touch faults pages in by writing to each. Where memory is short that ends the process, not the call.
func touch(mem []byte) {
	for i := 0; i < len(mem); i += pageSize {
		mem[i] = 0
	}
}

package pool

// Allocator makes the memory of a pool. Both methods are called from the goroutine that needs the memory, without any lock held,
// and have to be safe for concurrent use.
type Allocator interface {
	// Alloc returns n zero bytes that are backed by memory already; n is a multiple of the page size.
	Alloc(n int) ([]byte, error)
	// Free takes back exactly what Alloc returned.
	Free(b []byte) error
}

// HugePages allocates anonymous memory outside the Go heap, in huge pages where the kernel has them, left out of core dumps.
type HugePages struct{}

func (HugePages) Alloc(n int) ([]byte, error) { panic("soon") }
func (HugePages) Free(b []byte) error         { panic("soon") }

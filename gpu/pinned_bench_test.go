package gpu

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/pinion-zk/pinion/pool"
)

// driver is the driver's own allocator: cudaHostAlloc.
type driver struct {
	ordinal int32
	alloc   func(ordinal int32, size uint64, memory **byte, e *cError) int32
	free    func(ordinal int32, memory *byte, e *cError) int32
}

func newDriver(b *testing.B, c *Card) *driver {
	d := &driver{ordinal: c.ordinal}
	bind(&d.alloc, symbol(b, c, "pinion_host_alloc"))
	bind(&d.free, symbol(b, c, "pinion_host_free"))
	return d
}

func (d *driver) Alloc(n int) ([]byte, error) {
	var memory *byte
	var e cError
	err := e.err(d.alloc(d.ordinal, uint64(n), &memory, &e))
	return unsafe.Slice(memory, n), err
}

func (d *driver) Free(b []byte) error {
	var e cError
	return e.err(d.free(d.ordinal, &b[0], &e))
}

// BenchmarkPinned compares the two ways to page-locked memory: the driver's, and huge pages that are locked once they are there.
func BenchmarkPinned(b *testing.B) {
	card, err := OpenCUDA(cardLibrary(b), 0)
	if err != nil {
		b.Fatal(err)
	}
	defer card.Close()
	for name, memory := range map[string]Allocator{
		"cudaHostAlloc":           newDriver(b, card),
		"huge pages and register": card.Pinned(pool.HugePages{}),
		"huge pages, not locked":  pool.HugePages{},
	} {
		for _, mib := range []int{1, 64, 1024} {
			b.Run(fmt.Sprintf("%s/%d MiB", name, mib), func(b *testing.B) {
				for b.Loop() {
					mem, err := memory.Alloc(mib << 20)
					if err != nil {
						b.Fatal(err)
					}
					if err := memory.Free(mem); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)*1024/float64(mib), "ms/GiB")
			})
		}
	}
}

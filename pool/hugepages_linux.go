package pool

import (
	"errors"

	"golang.org/x/sys/unix"
)

// advise tells the kernel what the memory is for.
func advise(mem []byte) error {
	if err := unix.Madvise(mem, unix.MADV_DONTDUMP); err != nil {
		return err
	}
	// A kernel built without huge pages answers EINVAL; the memory is as good, only slower.
	if err := unix.Madvise(mem, unix.MADV_HUGEPAGE); err != nil && !errors.Is(err, unix.EINVAL) {
		return err
	}
	return nil
}

// fault makes the kernel back the memory. Kernels before 5.14 can't be asked to, and answer EINVAL.
func fault(mem []byte) error {
	err := unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	if errors.Is(err, unix.EINVAL) {
		touch(mem)
		return nil
	}
	return err
}

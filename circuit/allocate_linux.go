package circuit

import (
	"errors"
	"os"
	"syscall"
)

// allocate gives f its size and the disk space for it, so that writing to its mapping cannot run out of space.
func allocate(f *os.File, size int64) error {
	err := syscall.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, errors.ErrUnsupported) {
		return writeZeros(f, size)
	}
	if err != nil {
		return &os.PathError{Op: "reserving space for", Path: f.Name(), Err: err}
	}
	return nil
}

package circuit

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"syscall"
)

// mapFile maps size bytes of f, shared with the file.
func mapFile(f *os.File, size int64, writable bool) ([]byte, error) {
	protection := syscall.PROT_READ
	if writable {
		protection |= syscall.PROT_WRITE
	}
	if int64(int(size)) != size {
		return nil, fmt.Errorf("%s: %d bytes are more than this machine can map", f.Name(), size)
	}
	data, err := syscall.Mmap(int(f.Fd()), 0, int(size), protection, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", f.Name(), err)
	}
	return data, nil
}

var errMappingFault = errors.New("the mapped file could not be read or written: it was cut short, or its disk failed")

// guardMapping runs f, which touches mapped pages in this goroutine only. A page that the file no longer has, or that the disk does not
// deliver, would end the process (SIGBUS); here it is an error.
func guardMapping(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch fault := recover().(type) {
		case nil:
		case interface {
			runtime.Error
			Addr() uintptr
		}:
			err = errMappingFault
		default:
			panic(fault)
		}
	}()
	return f()
}

//go:build !linux

package gpu

import (
	"fmt"
	"runtime"
)

// dlopen fails: CUDA devices are used on Linux only.
func dlopen(path string) (uintptr, error) {
	return 0, fmt.Errorf("%s: CUDA devices are not supported on %s", path, runtime.GOOS)
}

func dlsym(_ uintptr, name string) (uintptr, error) {
	return 0, fmt.Errorf("%s: not on %s", name, runtime.GOOS)
}
func bind(any, uintptr)    {}
func callback(any) uintptr { return 0 }

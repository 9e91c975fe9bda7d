//go:build !nocuda

package gpu

import (
	"runtime"

	"github.com/ebitengine/purego"
)

// dlopen loads a shared library without cgo. Its own symbols stay its own.
func dlopen(path string) (uintptr, error) {
	runtime.LockOSThread() // the error's text is kept for the thread
	defer runtime.UnlockOSThread()
	return purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func dlsym(handle uintptr, name string) (uintptr, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return purego.Dlsym(handle, name)
}

// bind makes the function at an address callable: to is a pointer to a function.
func bind(to any, address uintptr) { purego.RegisterFunc(to, address) }

// callback makes a Go function callable from a library, for as long as the process lives.
func callback(f any) uintptr { return purego.NewCallback(f) }

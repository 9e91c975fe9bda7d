//go:build !linux || nocuda

package gpu

import "errors"

// errNoCUDA says that this program can't load a library: with the build tag nocuda it is static and runs where no dynamic loader is.
var errNoCUDA = errors.New("this program is built without CUDA: it takes Linux, and a build without the tag nocuda")

func dlopen(string) (uintptr, error)         { return 0, errNoCUDA }
func dlsym(uintptr, string) (uintptr, error) { return 0, errNoCUDA }
func bind(any, uintptr)                      {}
func callback(any) uintptr                   { return 0 }

// Package panics tells where a panic came from, and nothing of what it says: its text may be made of a witness.
package panics

import (
	"fmt"
	"runtime"
	"strings"
)

// Place is where the panic was raised that the deferred function which calls it has recovered: the first frame under the runtime's own.
func Place() string {
	pcs := make([]uintptr, 32)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") {
			return fmt.Sprintf("%s:%d", frame.Function, frame.Line)
		}
		if !more {
			return "unknown place"
		}
	}
}

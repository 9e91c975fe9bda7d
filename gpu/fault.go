package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// ErrFault is wrapped by an error of a Device after which it can't be trusted or used any more: a sticky error of the driver,
// a lost device. The executor gives it no more tasks.
var ErrFault = errors.New("device fault")

// guard runs f and makes a panic of it a fault: the process, and what others have in it, goes on without the device. Of the panic
// it keeps the type and the place; its text and the values on the stack may be made of a witness.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic (%T) at %s", ErrFault, p, panicSite())
		}
	}()
	return f()
}

// panicSite is where the panic that is being recovered was raised: the first frame under the runtime's own.
func panicSite() string {
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

package gpu

import (
	"errors"
	"fmt"

	"github.com/pinion-zk/pinion/internal/panics"
)

// ErrFault is wrapped by an error of a Device after which it can't be trusted or used any more: a sticky error of the driver,
// a lost device. The executor gives it no more tasks.
var ErrFault = errors.New("device fault")

// guard runs f and makes a panic of it a fault: the process, and what others have in it, goes on without the device. Of the panic
// it keeps the type and the place; its text and the values on the stack may be made of a witness.
func guard(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: panic (%T) at %s", ErrFault, p, panics.Place())
		}
	}()
	return f()
}

package gpu

import (
	"errors"
	"fmt"
	"time"
)

// ErrHung is the fault of a device that gave no sign of life for too long: see Executor.Patience.
var ErrHung = errors.New("device hangs")

// never is when a timer fires that is only made to be set later.
const never = 1<<63 - 1

// Patience bounds how long the device may take for one input of what it has begun, or for one call such as Load. A device that takes
// longer is taken for one that never comes back, and is unhealthy from then on; what it has begun is not taken from it. Without
// Patience there is no bound. It is called before the executor has anything to do.
func (e *Executor) Patience(limit time.Duration) { e.patience = limit }

// newHangTimer declares the device unhealthy when it fires, from a goroutine of its own: the executor's may be the one that hangs.
func (e *Executor) newHangTimer() *time.Timer {
	timer := time.AfterFunc(never, func() {
		e.Condemn(fmt.Errorf("%w: no sign of life for longer than %s allows", ErrHung, e.patience))
	})
	timer.Stop()
	return timer
}

// alive notes a sign of life of a device that has some calls to return from, and whatever is in flight.
func (e *Executor) alive(calls int) {
	switch left := calls + e.inputs; {
	case e.patience == 0:
	case left == 0:
		e.hang.Stop()
	default:
		e.hang.Reset(time.Duration(left) * e.patience)
	}
}

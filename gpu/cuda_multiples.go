package gpu

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/pinion-zk/pinion/groth16"
)

// Multiples is a groth16.Multiplier: it sets points to the multiples of the group's generator by scalars, which are canonical and
// below r, and waits for them. Like the methods of Device it belongs to one goroutine; nothing but this may use the card meanwhile.
func (c *Card) Multiples(curve groth16.Curve, group groth16.Group, scalars, points []byte) error {
	n := len(scalars) / groth16.ScalarSize
	if want := n * curve.PointSize(group); len(scalars)%groth16.ScalarSize != 0 || len(points) != want {
		return fmt.Errorf("%d bytes of scalars and room of %d bytes for points, expected %d", len(scalars), len(points), want)
	}
	var e cError
	// Curves and groups are numbered alike.
	err := e.err(c.lib.multiples(c.handle, uint32(curve), uint32(group), unsafe.SliceData(scalars), uint64(n), unsafe.SliceData(points), &e))
	runtime.KeepAlive(scalars)
	runtime.KeepAlive(points)
	if err != nil {
		return fmt.Errorf("multiples of the generator on %s: %w", c.info.Name, err)
	}
	return nil
}

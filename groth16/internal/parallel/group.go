package parallel

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/pinion-zk/pinion/internal/panics"
)

// Group is an errgroup.Group that makes an error of a panic: a *PanicError.
type Group struct{ tasks *errgroup.Group }

// NewGroup returns a group and a context that ends with the group's first error.
func NewGroup(ctx context.Context) (*Group, context.Context) {
	tasks, ctx := errgroup.WithContext(ctx)
	return &Group{tasks}, ctx
}

// Go calls f on another goroutine.
func (g *Group) Go(f func() error) { g.tasks.Go(func() error { return guard(f) }) }

// Wait waits for all tasks and returns the first error.
func (g *Group) Wait() error { return g.tasks.Wait() }

// PanicError is a panic on another goroutine, of which it keeps the type and the place only: its text may be made of a witness.
type PanicError struct{ Type, Place string }

func (e *PanicError) Error() string { return fmt.Sprintf("panic (%s) at %s", e.Type, e.Place) }

// guard calls f and makes an error of a panic.
func guard(f func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *PanicError: // of a goroutine that f has waited for
			err = p
		default:
			err = &PanicError{Type: fmt.Sprintf("%T", p), Place: panics.Place()}
		}
	}()
	return f()
}

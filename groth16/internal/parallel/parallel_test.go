package parallel

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestPanics has a panic on each kind of goroutine: it must come out as the group's error, without its text.
func TestPanics(t *testing.T) {
	fail := func() { panic("a secret") }
	tests := map[string]func(){
		"task":  fail,
		"loop":  func() { Do(100, 1, func(int, int) { fail() }) },
		"both":  func() { Both(fail, func() {}) },
		"other": func() { Both(func() {}, fail) },
		"first": func() { First(100, func(int) error { fail(); return nil }) },
		"deep":  func() { Both(func() { Do(100, 1, func(int, int) { fail() }) }, func() {}) },
	}
	for name, f := range tests {
		t.Run(name, func(t *testing.T) {
			g, ctx := NewGroup(context.Background())
			g.Go(func() error { f(); return nil })
			err := g.Wait()
			var found *PanicError
			if !errors.As(err, &found) || found.Type != "string" || !strings.Contains(found.Place, "parallel.TestPanics.func1:") {
				t.Errorf("error %v, expected a panic of a string in TestPanics.func1", err)
			}
			if ctx.Err() == nil {
				t.Error("the context goes on")
			}
		})
	}
}

func TestDoCoversTheRange(t *testing.T) {
	for _, n := range []int{0, 1, 7, 100, 1001} {
		seen := make([]int, n)
		Do(n, 10, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				seen[i]++
			}
		})
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("%d of %d: %d times, expected once", i, n, times)
			}
		}
	}
}

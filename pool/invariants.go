//go:build invariants

package pool

// invariants makes a caller's mistake a panic: for tests.
const invariants = true

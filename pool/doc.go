// Package pool keeps the books of memory: a Budget that is never exceeded, and a Pool of buffers that are worth keeping.
package pool

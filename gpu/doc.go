// Package gpu drives the devices that make proofs: Device, the CPU device, and the Executor goroutine that owns one.
package gpu

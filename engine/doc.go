// Package engine is what happens to one proving job, between a request and proofs that verify.
//
// Start with [New] and [Engine.Prove]. A job walks in one direction:
//
//	admit      the circuit is found, and all the memory that the job will need is reserved at once
//	witness    a .wtns stream is decoded, or inputs are calculated, straight into a buffer that the device reads
//	synthesis  the matrices of the circuit times the witness, here or on the device
//	wait       for the device; the hand-over is bounded
//	device     the proof is made; the buffers go back to the pool once the device has its own copy
//	check      each proof is verified against the circuit's key; one that doesn't verify never leaves
//
// The engine keeps the circuits that it has used loaded until their memory is needed elsewhere. It knows nothing of queues.
// Witness values are in no error, event, or span.
package engine

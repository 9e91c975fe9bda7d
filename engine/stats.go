package engine

import (
	"sync/atomic"

	"github.com/pinion-zk/pinion/circuit"
)

// Stats are counters since the engine's start, but for Circuits and Running.
type Stats struct {
	Proofs       int64 // proofs that left, verified
	Wrong        int64 // proofs that the device made and that didn't verify, whosever fault it was
	Again        int64 // jobs of which proofs were made again
	DeviceFaults int64 // errors of the device, and wrong answers that weren't the witness's fault
	Loads        int64 // circuits loaded
	Evictions    int64 // circuits unloaded because their memory was needed elsewhere
	Circuits     int   // circuits loaded now
	Running      int   // jobs admitted now, and those that wait for it
}

type counters struct {
	proofs, wrong, again, deviceFaults, loads, evictions atomic.Int64
}

// Stats returns the numbers of now.
func (e *Engine) Stats() Stats {
	e.mu.Lock()
	running := e.running
	e.mu.Unlock()
	return Stats{
		Proofs:       e.count.proofs.Load(),
		Wrong:        e.count.wrong.Load(),
		Again:        e.count.again.Load(),
		DeviceFaults: e.count.deviceFaults.Load(),
		Loads:        e.count.loads.Load(),
		Evictions:    e.count.evictions.Load(),
		Circuits:     e.circuits.len(),
		Running:      running,
	}
}

// Resident returns the circuits that are loaded, or being loaded, by name.
func (e *Engine) Resident() []circuit.Ref { return e.circuits.refs() }

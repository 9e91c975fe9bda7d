package engine

import "time"

// A Phase is a part of a job's way.
type Phase string

// The phases in order. A job of which proofs are made again goes through them again, with a higher Attempt.
const (
	PhaseAdmit     Phase = "admit"
	PhaseWitness   Phase = "witness"
	PhaseSynthesis Phase = "synthesis" // left out where the device synthesizes
	PhaseWait      Phase = "wait"
	PhaseDevice    Phase = "device"
	PhaseCheck     Phase = "check"
)

// An Event tells that a job enters a phase. PhaseWitness and PhaseSynthesis are entered for each proof, PhaseWait to PhaseCheck for each
// task of several proofs.
type Event struct {
	Phase   Phase
	Proof   int // index of the witness, of the task's first one from PhaseWait on
	Attempt int // 1, and higher when proofs are made again
	At      time.Time
}

// Phases are the durations of a job's phases, over all its proofs and attempts. Where a job is more than one task,
// the device works on one while the next is made ready, so the sum may exceed Total.
type Phases struct {
	Admit     time.Duration // finding and loading the circuit, waiting for memory
	Witness   time.Duration // reading or calculating witnesses
	Synthesis time.Duration // 0 where the device synthesizes
	Wait      time.Duration // for a synthesis worker and for the device
	Device    time.Duration
	Check     time.Duration
	Total     time.Duration // from Admit's start to Prove's end
}

// Milliseconds returns the phases by their keys in Result v1; Admit counts as wait there.
func (p Phases) Milliseconds() map[string]float64 {
	ms := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return map[string]float64{
		"witness":   ms(p.Witness),
		"synthesis": ms(p.Synthesis),
		"wait":      ms(p.Admit + p.Wait),
		"device":    ms(p.Device),
		"check":     ms(p.Check),
		"total":     ms(p.Total),
	}
}

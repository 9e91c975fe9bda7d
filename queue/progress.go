package queue

import "time"

// Phases that a [Handler] reports.
const (
	PhaseAdmit     = "admit"
	PhaseFetch     = "fetch"
	PhaseWitness   = "witness"
	PhaseSynthesis = "synthesis"
	PhaseWait      = "wait"
	PhaseDevice    = "device"
	PhaseCheck     = "check"
)

// Progress is where a job stands: an event on pinion.progress.<job> and on
// the reply subject, best effort.
type Progress struct {
	ID      string
	State   State
	Phase   string // one of the phases while the job runs
	Attempt int
	Worker  string
	At      time.Time // by the worker's clock, milliseconds on the wire
	Percent int       // 0 to 100, of the phase
}

// Status is a job's record in [BucketState], kept for a day after its last
// change: Progress, and what keeps one id one job.
type Status struct {
	Progress
	// Attempts counts the attempts that have begun, less those given back
	// (deferred, or not begun at shutdown).
	Attempts int
	// Deferrals counts how often a worker handed the job on.
	Deferrals int
	// Job is the sha256 of the job's body and Subject where it is queued:
	// the same id with another of either is a conflict.
	Job     [32]byte
	Subject string
	// Cancelled is set once somebody asked for it.
	Cancelled bool
	// History says what became of the attempts, the latest last.
	History []Attempt
}

// Attempt is one entry of a job's history.
type Attempt struct {
	Attempt int    `json:"attempt"`
	Worker  string `json:"worker"`
	At      int64  `json:"at"`              // unix ms, when it began
	Error   string `json:"error,omitempty"` // empty: unknown, the worker may have died
	Trace   string `json:"trace,omitempty"` // traceparent of its process span
}

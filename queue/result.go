package queue

import "time"

// State is where a job stands.
type State string

// States of a job. The last four are final and those of a [Result].
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
	Expired   State = "expired"
)

// Final reports whether a job in this state stays in it.
func (s State) Final() bool {
	return s == Done || s == Failed || s == Cancelled || s == Expired
}

// Result is what a job came to. There is exactly one for each job.
type Result struct {
	ID      string
	Circuit string   // hexadecimal sha256 of the proving key's file; empty if the job couldn't be read
	Job     [32]byte // sha256 of the job's body
	State   State    // Done, Failed, Cancelled or Expired
	Proofs  []Proof  // of a job that is done: one for each witness, in order
	Err     *Failure // of a job that isn't done
	Attempt int      // which attempt this is from; 0 if no work began
	Worker  string
	Device  string
	Timings Timings
	Trace   string // hexadecimal trace id; empty without one
}

// Proof is one Groth16 proof and what it proves.
type Proof struct {
	// Proof is A|B|C compressed: 128 bytes as gnark writes them for BN254,
	// 192 bytes as bellman writes them for BLS12-381.
	Proof []byte
	// Public are the public signals, 32 bytes big-endian each, without the
	// constant one.
	Public []byte
}

// Timings are where a job's time went. A phase that didn't happen is zero;
// phases of different proofs of a job may overlap, so they needn't add up.
type Timings struct {
	Queue     time.Duration // submission to delivery, by the broker's and the worker's clock
	Decode    time.Duration
	Fetch     time.Duration
	Witness   time.Duration
	Synthesis time.Duration
	Wait      time.Duration // for the device
	Device    time.Duration
	Check     time.Duration
	Total     time.Duration // delivery to result
}

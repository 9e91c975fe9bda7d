package queue

import (
	"encoding/json"
	"fmt"
	"time"
)

// Phases that a [Handler] reports.
const (
	PhaseAdmit     = "admit"
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
	// Deferrals counts how often a worker handed the job on, and Deferred
	// says why it did so the last time.
	Deferrals int
	Deferred  string
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

func (p *Progress) fields() []field {
	return []field{
		number("v", version),
		text("id", p.ID),
		text("state", string(p.State)),
		text("phase", p.Phase),
		number("attempt", p.Attempt),
		text("worker", p.Worker),
		moment("at", p.At),
		number("pct", p.Percent),
	}
}

// EncodeProgress writes a progress event's body.
func EncodeProgress(p *Progress) []byte {
	e := newEncoder(256)
	e.fieldMap(p.fields())
	return e.buf.Bytes()
}

// DecodeProgress reads a progress event's body; it leaves out what it doesn't
// know.
func DecodeProgress(data []byte) (*Progress, error) {
	p := &Progress{}
	if err := decodeMap("progress", data, false, p.decodeField); err != nil {
		return nil, err
	}
	return p, p.validate("progress")
}

func (p *Progress) decodeField(d *decoder, key string) bool {
	switch key {
	case "id":
		p.ID = d.text(64)
	case "state":
		p.State = State(d.text(16))
	case "phase":
		p.Phase = d.text(32)
	case "attempt":
		p.Attempt = d.int()
	case "worker":
		p.Worker = d.text(64)
	case "at":
		p.At = d.time()
	case "pct":
		p.Percent = int(d.uint(100))
	default:
		return false
	}
	return true
}

func (p *Progress) validate(what string) error {
	if !ValidToken(p.ID) {
		return &MalformedError{what, "id", fmt.Sprintf("%.80q", p.ID), "1 to 64 of A-Z a-z 0-9 _ -"}
	}
	if p.State != Queued && p.State != Running && !p.State.Final() {
		return &MalformedError{what, "state", fmt.Sprintf("%.20q", p.State), "queued, running, done, failed, cancelled or expired"}
	}
	return nil
}

// encodeStatus writes a job's record.
func encodeStatus(s *Status) []byte {
	var history []byte
	if len(s.History) > 0 {
		history, _ = json.Marshal(s.History) // strings and integers: can't fail
	}
	e := newEncoder(1024)
	e.fieldMap(append(s.Progress.fields(),
		number("attempts", s.Attempts),
		number("deferrals", s.Deferrals),
		text("deferred", s.Deferred),
		blob("job", s.Job[:]),
		text("subject", s.Subject),
		boolean("cancel", s.Cancelled),
		blob("history", history),
	))
	return e.buf.Bytes()
}

func decodeStatus(data []byte) (*Status, error) {
	s := &Status{}
	err := decodeMap("status", data, false, func(d *decoder, key string) bool {
		switch key {
		case "attempts":
			s.Attempts = d.int()
		case "deferrals":
			s.Deferrals = d.int()
		case "deferred":
			s.Deferred = d.text(maxMessage)
		case "job":
			s.Job = d.digest()
		case "subject":
			s.Subject = d.text(256)
		case "cancel":
			s.Cancelled = d.bool()
		case "history":
			s.History = decodeHistory(d)
		default:
			return s.Progress.decodeField(d, key)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	return s, s.validate("status")
}

// decodeHistory reads JSON, whose length bounds what it takes in memory.
func decodeHistory(d *decoder) (history []Attempt) {
	switch data := d.binary(); {
	case len(data) > maxHistoryBytes:
		d.fail(fmt.Sprintf("%d bytes", len(data)), fmt.Sprintf("at most %d", maxHistoryBytes))
	case d.err == nil:
		if err := json.Unmarshal(data, &history); err != nil {
			d.fail(err.Error(), "JSON")
		}
	}
	return history
}

const (
	// maxHistory bounds the attempts that a record remembers.
	maxHistory = 8
	// maxHistoryBytes is far above what that many take.
	maxHistoryBytes = 64 << 10
)

// begin notes that an attempt begins.
func (s *Status) begin(worker, trace string, now time.Time) {
	s.Attempts++
	s.State, s.Phase, s.Attempt, s.Worker, s.At, s.Percent = Running, PhaseAdmit, s.Attempts, worker, now, 0
	s.History = append(s.History, Attempt{Attempt: s.Attempts, Worker: worker, At: now.UnixMilli(), Trace: trace})
	if n := len(s.History); n > maxHistory {
		s.History = s.History[n-maxHistory:]
	}
}

// end notes why the latest attempt ended.
func (s *Status) end(why string) {
	if n := len(s.History); n > 0 {
		s.History[n-1].Error = truncate(why, 400)
	}
}

// truncate shortens s to at most n bytes, at a rune's boundary.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xc0 == 0x80 {
		n--
	}
	return s[:n]
}

package gpu

import (
	"iter"
	"time"
)

// Timings are the phases of a task. On devices that overlap phases they need not add up to the total.
type Timings struct {
	Wait       time.Duration // from Submit to begin
	Batch      int           // inputs that were computed together, those of others included: the phases are of all of them
	Upload     time.Duration
	Overlapped time.Duration // of the upload, while the device computed
	Synthesis  time.Duration
	NTT        time.Duration
	MSM        time.Duration // all sums over points
	Finish     time.Duration
	Total      time.Duration // from begin to done

	// Parts of MSM, on a card: the order of the scalars, which the sums over the witness share, and the sum over each list of points.
	Sort, A, B1, B2, C, H time.Duration
}

// phase is one of the times of Timings that a device tells.
type phase struct {
	name string
	time func(*Timings) *time.Duration
}

var phases = []phase{
	{"upload", func(t *Timings) *time.Duration { return &t.Upload }},
	{"overlapped", func(t *Timings) *time.Duration { return &t.Overlapped }},
	{"synthesis", func(t *Timings) *time.Duration { return &t.Synthesis }},
	{"ntt", func(t *Timings) *time.Duration { return &t.NTT }},
	{"msm", func(t *Timings) *time.Duration { return &t.MSM }},
	{"sort", func(t *Timings) *time.Duration { return &t.Sort }},
	{"a", func(t *Timings) *time.Duration { return &t.A }},
	{"b1", func(t *Timings) *time.Duration { return &t.B1 }},
	{"b2", func(t *Timings) *time.Duration { return &t.B2 }},
	{"c", func(t *Timings) *time.Duration { return &t.C }},
	{"h", func(t *Timings) *time.Duration { return &t.H }},
	{"finish", func(t *Timings) *time.Duration { return &t.Finish }},
	{"total", func(t *Timings) *time.Duration { return &t.Total }},
}

// Phases are the times by name, less Wait: upload, overlapped, synthesis, ntt, msm, its parts sort, a, b1, b2, c and h, finish, total.
func (t Timings) Phases() iter.Seq2[string, time.Duration] {
	return func(yield func(string, time.Duration) bool) {
		for _, p := range phases {
			if !yield(p.name, *p.time(&t)) {
				return
			}
		}
	}
}

// Stats are sums over the tasks that a device did, each counted once, however many were submitted to become it.
type Stats struct {
	Tasks, Inputs int64
	Time          Timings // less Wait; Batch is that of the last task
}

func (s *Stats) add(t Timings) {
	s.Tasks++
	s.Inputs += int64(t.Batch)
	s.Time.Batch = t.Batch
	for _, p := range phases {
		*p.time(&s.Time) += *p.time(&t)
	}
}

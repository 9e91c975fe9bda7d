package circuit

// Progress is told how far long work has come: done of total, in units that depend on the stage ("digest", "points", ...).
// It is called from one goroutine at a time. A nil Progress is fine.
type Progress func(stage string, done, total int64)

func (p Progress) report(stage string, done, total int64) {
	if p != nil {
		p(stage, done, total)
	}
}

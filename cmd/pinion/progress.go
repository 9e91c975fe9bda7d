package main

import (
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// bar shows how far long work is, on a terminal only. The zero bar shows nothing.
type bar struct {
	a     *app
	stage string
	shown *progressbar.ProgressBar
}

// bar returns a bar on stderr, or one that shows nothing if that is no terminal or JSON is wanted.
func (a *app) bar() *bar {
	if f, ok := a.stderr.(*os.File); !ok || a.json || !term.IsTerminal(int(f.Fd())) {
		return &bar{}
	}
	return &bar{a: a}
}

// report has the form of circuit.Progress.
func (b *bar) report(stage string, done, total int64) {
	if b.a == nil {
		return
	}
	if stage != b.stage || b.shown == nil {
		b.close()
		b.stage = stage
		b.shown = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(b.a.stderr),
			progressbar.OptionSetDescription(stage),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish())
	}
	_ = b.shown.Set64(done) // a bar that can't be drawn is no reason to stop the work
}

// close takes the bar off the screen.
func (b *bar) close() {
	if b.shown != nil {
		_ = b.shown.Clear()
		b.shown = nil
	}
}

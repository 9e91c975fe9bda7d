package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/queue"
)

const (
	// lateness is how long after its deadline a job's result may take: whoever has the job, or takes it then, ends it at once.
	lateness = 5 * time.Second
	// lookInterval is how long a job may lie in the queue before its producer is told why.
	lookInterval = 2 * time.Second
)

// waitFor waits for the result, until some time after the job's deadline if it has one.
func (s *submitCmd) waitFor(a *app, client *queue.Client, id string) (*queue.Result, error) {
	ctx := a.ctx
	if s.Deadline > 0 {
		late := fmt.Errorf("job %s: no result %s after its deadline, so perhaps no worker is running: %w", id, lateness, context.DeadlineExceeded)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Deadline+lateness, late)
		defer cancel()
	}
	w := &watch{a: a, client: client, id: id, bar: a.bar()}
	stop, err := w.start(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	return client.Wait(ctx, id)
}

// watch shows on stderr what happens to a job: a bar while it runs, and a line when it lies in the queue.
type watch struct {
	a      *app
	client *queue.Client
	id     string
	told   string // the last line

	mu  sync.Mutex // over stderr and
	bar *bar
}

// start watches until stop is called.
func (w *watch) start(ctx context.Context) (stop func(), err error) {
	unsubscribe, err := w.client.OnProgress(w.id, w.progress)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var looking sync.WaitGroup
	looking.Go(func() { w.look(ctx) })
	return func() {
		cancel()
		looking.Wait()
		unsubscribe()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.bar.close()
		w.bar = &bar{} // for an event that is under way
	}, nil
}

func (w *watch) progress(p queue.Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bar.report(p.Phase, int64(p.Percent), 100)
}

// look reads the job's record now and again until ctx ends.
func (w *watch) look(ctx context.Context) {
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The record is no more than news: whoever waits for the result hears of trouble with the broker.
		if st, err := w.client.Status(ctx, w.id); err == nil && st.State == queue.Queued {
			w.tell(lying(st))
		}
	}
}

// tell prints a line, unless it is the one before.
func (w *watch) tell(line string) {
	if line == w.told {
		return
	}
	w.told = line
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bar.close()
	fmt.Fprintf(w.a.stderr, "pinion: job %s: %s\n", w.id, oneLine(line))
}

// lying says why a job is in the queue.
func lying(st *queue.Status) string {
	if st.Deferred != "" {
		return "queued; handed on: " + st.Deferred
	}
	if n := len(st.History); n > 0 {
		return fmt.Sprintf("queued again; attempt %d on %s: %s", st.History[n-1].Attempt, st.History[n-1].Worker, st.History[n-1].Error)
	}
	return "queued; no worker has taken it yet"
}

package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/pinion-zk/pinion/queue"
)

// follow waits for a job's result, and shows where the job stands: by a bar and a line about what it waits for, or when watched with
// all that it goes through.
func (a *app) follow(ctx context.Context, client *queue.Client, id string, watched bool) (*queue.Result, error) {
	f := &follower{a: a, id: id, bar: a.bar()}
	defer f.bar.close()
	show := f.glance
	if watched {
		show = f.watch
	}
	for st, err := range client.Watch(ctx, id) {
		if err != nil {
			return nil, err
		}
		if !st.State.Final() {
			show(&st)
		}
	}
	f.bar.close()
	return client.Wait(ctx, id)
}

// follower shows the news of one job.
type follower struct {
	a    *app
	id   string
	bar  *bar
	seen int
	told string // the last line
}

// glance shows what somebody who waits wants to know. That no worker has the job is normal at first.
func (f *follower) glance(st *queue.Status) {
	f.seen++
	switch reason := st.Deferred != "" || len(st.History) > 0; {
	case st.State == queue.Running:
		f.bar.report(st.Phase, int64(st.Percent), 100)
	case f.seen > 1 || reason:
		f.tell(standing(st))
	}
}

// watch shows everything.
func (f *follower) watch(st *queue.Status) {
	if !f.a.json {
		f.tell(standing(st))
		return
	}
	line, err := json.Marshal(newJobLine(st))
	if err == nil && string(line) != f.told {
		f.told = string(line)
		fmt.Fprintln(f.a.stdout, f.told)
	}
}

// tell prints a line, unless it is the one before.
func (f *follower) tell(line string) {
	if line == f.told {
		return
	}
	f.told = line
	f.bar.close()
	fmt.Fprintf(f.a.stderr, "pinion: job %s: %s\n", f.id, oneLine(line))
}

// standing says where a job stands that has not ended, and why it is in the queue if it is.
func standing(st *queue.Status) string {
	n := len(st.History)
	switch {
	case st.State == queue.Running && st.Percent > 0:
		return fmt.Sprintf("%s %d %%, attempt %d on %s", st.Phase, st.Percent, st.Attempt, st.Worker)
	case st.State == queue.Running:
		return fmt.Sprintf("%s, attempt %d on %s", st.Phase, st.Attempt, st.Worker)
	case st.Deferred != "":
		return "queued; handed on: " + st.Deferred
	case n > 0:
		return fmt.Sprintf("queued again; attempt %d on %s: %s", st.History[n-1].Attempt, st.History[n-1].Worker, st.History[n-1].Error)
	}
	return "queued; no worker has taken it yet"
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/pinion-zk/pinion/queue"
)

type jobsCmd struct {
	List    jobsList    `cmd:"" help:"List the jobs of the last day, or the dead letters."`
	Show    jobsShow    `cmd:"" help:"Show one job: where it stands, and what became of its attempts."`
	Cancel  jobsCancel  `cmd:"" help:"Cancel jobs, queued or running."`
	Requeue jobsRequeue `cmd:"" help:"Submit the job of a dead letter again, under a new id."`
}

type jobsList struct {
	State []string `enum:"queued,running,done,failed,cancelled,expired" placeholder:"S" help:"Only jobs in these states: queued, running, done, failed, cancelled or expired."`
	Dead  bool     `help:"List the dead letters: failed jobs, which are kept for longer."`
}

func (l *jobsList) Run(a *app) error {
	if l.Dead && l.State != nil {
		return &usageError{errors.New("--dead and --state can't be used together")}
	}
	client, closeClient, err := a.client("jobs")
	if err != nil {
		return err
	}
	defer closeClient()
	if l.Dead {
		return listDead(a, client)
	}
	lines := []jobLine{}
	for st, err := range client.Jobs(a.ctx) {
		switch {
		case st == nil:
			return err
		case err != nil:
			a.warnf("%s", oneLine(err.Error()))
		case l.State == nil || slices.Contains(l.State, string(st.State)):
			lines = append(lines, newJobLine(st))
		}
	}
	return a.print(lines, func(w io.Writer) {
		table(w, "JOB\tSTATE\tPHASE\tPRIORITY\tCIRCUIT\tATTEMPTS\tWORKER\tCHANGED", lines, func(j jobLine) []any {
			return []any{j.ID, j.State, j.Phase, j.Priority, j.Circuit, j.Attempts, j.Worker, ago(j.At)}
		})
	})
}

func listDead(a *app, client *queue.Client) error {
	lines := []deadLine{}
	for l, err := range client.DeadLetters(a.ctx) {
		if err != nil {
			return err
		}
		lines = append(lines, newDeadLine(l))
	}
	return a.print(lines, func(w io.Writer) {
		table(w, "JOB\tPRIORITY\tCIRCUIT\tATTEMPTS\tWORKER\tFAILED\tERROR", lines, func(d deadLine) []any {
			return []any{d.ID, d.Priority, d.Circuit, d.Attempts, d.Worker, ago(d.At), fmt.Sprintf("%.80s", d.Code+": "+d.Error)}
		})
	})
}

// table prints a line for each of what there is, in columns.
func table[T any](w io.Writer, head string, lines []T, columns func(T) []any) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer t.Flush()
	fmt.Fprintln(t, head)
	for _, l := range lines {
		for i, c := range columns(l) {
			if i > 0 {
				fmt.Fprint(t, "\t")
			}
			fmt.Fprint(t, oneLine(fmt.Sprint(c)))
		}
		fmt.Fprintln(t)
	}
}

// ago is how long ago something was, as people read it.
func ago(at time.Time) string { return time.Since(at).Round(time.Second).String() + " ago" }

// jobLine is a job as jobs list and --watch print it.
type jobLine struct {
	ID        string    `json:"id"`
	State     string    `json:"state"`
	Phase     string    `json:"phase,omitempty"`
	Percent   int       `json:"percent,omitempty"`
	Priority  string    `json:"priority"`
	Circuit   string    `json:"circuit"`
	Attempts  int       `json:"attempts"`
	Worker    string    `json:"worker,omitempty"`
	At        time.Time `json:"at"`
	Cancelled bool      `json:"cancelled,omitempty"` // asked for
	Deferrals int       `json:"deferrals,omitempty"`
	Deferred  string    `json:"deferred,omitempty"` // why, the last time
}

func newJobLine(st *queue.Status) jobLine {
	priority, circuit, _, _ := queue.ParseJobSubject(st.Subject) // empty if unknown
	return jobLine{
		st.ID, string(st.State), st.Phase, st.Percent, string(priority), circuit, st.Attempts, st.Worker, st.At.UTC(),
		st.Cancelled, st.Deferrals, st.Deferred,
	}
}

// deadLine is a dead letter without the job itself.
type deadLine struct {
	ID       string    `json:"id"`
	Priority string    `json:"priority"`
	Circuit  string    `json:"circuit"`
	Code     string    `json:"code"`
	Error    string    `json:"error"`
	Attempts int       `json:"attempts"`
	Worker   string    `json:"worker"`
	At       time.Time `json:"at"`
}

func newDeadLine(l *queue.DeadLetter) deadLine {
	priority, circuit, _, _ := queue.ParseJobSubject(l.Subject)
	return deadLine{l.ID, string(priority), circuit, string(l.Code), l.Error, l.Attempt, l.Worker, l.At.UTC()}
}

type jobsCancel struct {
	IDs []string `arg:"" name:"id" help:"Ids of the jobs."`
}

func (*jobsCancel) Help() string {
	return "A running job's worker ends it at once, a queued one ends when a worker comes to it. Exit code 4 if a job had ended already."
}

func (c *jobsCancel) Run(a *app) error {
	client, closeClient, err := a.client("jobs")
	if err != nil {
		return err
	}
	defer closeClient()
	var faults []error
	for _, id := range c.IDs {
		faults = append(faults, cancelJob(a.ctx, client, id))
	}
	return errors.Join(faults...)
}

func cancelJob(ctx context.Context, client *queue.Client, id string) error {
	st, err := client.Status(ctx, id)
	switch {
	case err != nil:
		return about(id, err)
	case st.State == queue.Cancelled:
		return nil
	case st.State.Final():
		return fmt.Errorf("%w; it can't be cancelled any more", &jobError{id: id, state: st.State})
	}
	return client.Cancel(ctx, id)
}

type jobsRequeue struct {
	Job string `arg:"" name:"id" help:"Id of the job that failed."`
	ID  string `name:"id" placeholder:"ID" help:"Id of the new job; a random one if it isn't given."`
}

func (*jobsRequeue) Help() string {
	return "Prints the new job's id. The new job is the old one without its deadline, and with the old id as origin in its meta data; the dead letter stays."
}

func (r *jobsRequeue) Run(a *app) error {
	client, closeClient, err := a.client("jobs")
	if err != nil {
		return err
	}
	defer closeClient()
	sub, err := client.Requeue(a.ctx, r.Job, r.ID)
	if err != nil {
		return about(r.Job, err)
	}
	return a.print(submission{sub.ID, sub.Circuit, sub.Duplicate}, func(w io.Writer) { fmt.Fprintln(w, sub.ID) })
}

package main

import (
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
)

type jobsShow struct {
	ID string `arg:"" help:"Id of the job."`
}

// shownJob is all that is known of a job; what there is none of is nil.
type shownJob struct {
	Job     *jobLine        `json:"job,omitempty"` // nil a day after the job's end
	History []queue.Attempt `json:"history,omitempty"`
	Result  any             `json:"result,omitempty"`
	Dead    *deadLine       `json:"dead,omitempty"`

	result *queue.Result
}

func (s *jobsShow) Run(a *app) error {
	client, closeClient, err := a.client("jobs")
	if err != nil {
		return err
	}
	defer closeClient()
	job, err := findJob(a, client, s.ID)
	if err != nil {
		return err
	}
	return a.print(job, job.write)
}

// findJob looks wherever something of a job may be kept.
func findJob(a *app, client *queue.Client, id string) (*shownJob, error) {
	s := &shownJob{}
	st, err := client.Status(a.ctx, id)
	if err == nil {
		line := newJobLine(st)
		s.Job, s.History = &line, st.History
	} else if !errors.Is(err, queue.ErrUnknownJob) {
		return nil, err
	}
	if s.result, err = client.Result(a.ctx, id); err == nil {
		s.Result = resultJSON(s.result)
	} else if !errors.Is(err, queue.ErrNoResult) {
		return nil, err
	}
	letter, err := client.DeadLetter(a.ctx, id)
	switch {
	case err == nil:
		line := newDeadLine(letter)
		s.Dead = &line
		if s.History == nil {
			s.History = letter.History
		}
	case errors.Is(err, nats.ErrPermissionViolation): // only operators may read them
		a.warnf("whether there is a dead letter: %v", err)
	case !errors.Is(err, queue.ErrNoDeadLetter):
		return nil, err
	}
	if s.Job == nil && s.Result == nil && s.Dead == nil {
		return nil, about(id, queue.ErrUnknownJob)
	}
	return s, nil
}

// write prints it for people.
func (s *shownJob) write(w io.Writer) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name string, value any) {
		if text := fmt.Sprint(value); text != "" && text != "0" {
			fmt.Fprintf(t, "%s\t%s\n", name, oneLine(text))
		}
	}
	if j := s.Job; j != nil {
		line("job", j.ID)
		line("state", j.State)
		line("phase", j.Phase)
		line("priority", j.Priority)
		line("circuit", j.Circuit)
		line("attempts", j.Attempts)
		line("worker", j.Worker)
		line("changed", moment(j.At))
		if j.Cancelled {
			line("cancelled", "asked for")
		}
		line("handed on", j.Deferrals)
		line("because", j.Deferred)
	}
	if r := s.result; r != nil {
		line("result", fmt.Sprintf("%s by %s, attempt %d", r.State, r.Worker, r.Attempt))
		line("proofs", len(r.Proofs))
		line("device", r.Device)
		line("took", r.Timings.Total.Round(time.Millisecond))
		if r.Err != nil {
			line("error", r.Err)
		}
		line("trace", r.Trace)
	}
	if d := s.Dead; d != nil {
		line("dead letter", moment(d.At))
	}
	t.Flush()
	if len(s.History) > 0 {
		fmt.Fprintln(w)
		table(w, "ATTEMPT\tWORKER\tBEGAN\tERROR", s.History, func(h queue.Attempt) []any {
			return []any{h.Attempt, h.Worker, moment(time.UnixMilli(h.At)), h.Error}
		})
	}
}

func moment(t time.Time) string {
	return fmt.Sprintf("%s (%s)", t.UTC().Format(time.RFC3339), ago(t))
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

type workersCmd struct {
	List   workersList   `cmd:"" default:"1" help:"List the workers that answer: device, circuits, jobs in hand, rates."`
	Pause  workersPause  `cmd:"" help:"Make workers take no more jobs; those in hand go on."`
	Resume workersResume `cmd:"" help:"Make paused workers take jobs again."`
	Drain  workersDrain  `cmd:"" help:"Make workers finish the jobs in hand and end."`
}

// listenTime is how long workers have to answer.
const listenTime = time.Second

type workersList struct{}

func (workersList) Run(a *app) error {
	nc, err := a.connect("workers")
	if err != nil {
		return err
	}
	defer nc.Close()
	workers, err := service.AskWorkers(a.ctx, nc, listenTime)
	if err != nil {
		return err
	}
	client, err := service.NewClient(a.ctx, nc)
	if err != nil {
		return err
	}
	switch paused, err := client.FleetPaused(a.ctx); {
	case errors.Is(err, nats.ErrPermissionViolation): // only operators may look
		a.warnf("whether the fleet is paused: %v", err)
	case err != nil:
		return err
	case paused > 0:
		a.warnf("the fleet is paused for another %s", paused.Round(time.Second))
	}
	return a.print(workers, func(w io.Writer) {
		table(w, "WORKER\tREADY\tDEVICE\tMEMORY\tCIRCUITS\tIN HAND\tJOBS/MIN\tDONE\tFAILED", workers, func(s service.Status) []any {
			ready := "yes"
			if !s.Ready {
				ready = s.Reason
			}
			return []any{
				s.Worker, ready, s.Device, fmt.Sprintf("%s of %s", service.Size(s.Memory.Used), service.Size(s.Memory.Total)),
				circuitNames(s), jobsInHand(s), s.Jobs.LastMinute, s.Jobs.Done, s.Jobs.Failed,
			}
		})
	})
}

func circuitNames(s service.Status) string {
	var names []string
	for _, ref := range s.Circuits {
		name, _, _ := strings.Cut(ref, "@")
		names = append(names, name)
	}
	for _, ref := range s.Fetching {
		name, _, _ := strings.Cut(ref, "@")
		names = append(names, name+" (fetching)")
	}
	return orDash(names)
}

func jobsInHand(s service.Status) string {
	jobs := make([]string, len(s.InHand))
	for i, j := range s.InHand {
		jobs[i] = strings.TrimSpace(j.ID + " " + j.Phase)
	}
	return orDash(jobs)
}

func orDash(parts []string) string {
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ", ")
}

// chosen are the workers that a command is about.
type chosen struct {
	Workers []string `arg:"" optional:"" name:"worker" help:"Names of the workers."`
	All     bool     `help:"The whole fleet."`
}

type workersPause struct {
	chosen
	For time.Duration `default:"24h" placeholder:"D" help:"With --all: how long."`
}

func (*workersPause) Help() string {
	return "Workers that are named stay paused until they are resumed or end. With --all the broker gives out no jobs, to workers that start later " +
		"neither, until they are resumed or the time is over. Jobs can be submitted all the while."
}

func (p *workersPause) Run(a *app) error {
	if p.For <= 0 {
		return &usageError{fmt.Errorf("--for: found %s, expected more than 0", p.For)}
	}
	return p.tell(a, "pause", func(ctx context.Context, client *queue.Client) error { return client.PauseFleet(ctx, p.For) })
}

type workersResume struct{ chosen }

func (*workersResume) Help() string {
	return "With --all the pause of the fleet ends; workers that were paused by name are resumed by name."
}

func (r *workersResume) Run(a *app) error {
	return r.tell(a, "resume", func(ctx context.Context, client *queue.Client) error { return client.ResumeFleet(ctx) })
}

type workersDrain struct{ chosen }

func (*workersDrain) Help() string {
	return "As SIGTERM does. What restarts workers that end, restarts these too."
}

func (d *workersDrain) Run(a *app) error { return d.tell(a, "drain", nil) }

// tell has each of the workers do what the verb says, and prints their names. For the whole fleet it does what fleet does, if that isn't
// nil.
func (c *chosen) tell(a *app, verb string, fleet func(context.Context, *queue.Client) error) error {
	if (len(c.Workers) == 0) != c.All {
		return &usageError{errors.New("give the names of workers, or --all")}
	}
	nc, err := a.connect("workers")
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	if c.All && fleet != nil {
		client, err := service.NewClient(ctx, nc)
		if err != nil {
			return err
		}
		return fleet(ctx, client)
	}
	names := c.Workers
	if c.All {
		workers, err := service.AskWorkers(ctx, nc, listenTime)
		if err != nil {
			return err
		}
		for _, w := range workers {
			names = append(names, w.Worker)
		}
	}
	told := []string{}
	var faults []error
	for _, name := range names {
		_, err := service.TellWorker(ctx, nc, name, verb)
		if faults = append(faults, err); err == nil {
			told = append(told, name)
		}
	}
	faults = append(faults, a.print(told, func(w io.Writer) {
		for _, name := range told {
			fmt.Fprintln(w, name)
		}
	}))
	return errors.Join(faults...)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

type provisionCmd struct {
	Replicas   int           `placeholder:"N" help:"Copies that a cluster keeps of all of it (1 when created, at most 5)."`
	Storage    string        `default:"" enum:",file,memory" placeholder:"KIND" help:"Where the broker keeps it: file (when created) or memory."`
	MaxJobs    int64         `placeholder:"N" help:"Jobs that may be queued or in hand (10000 when created)."`
	MaxBytes   service.Size  `placeholder:"SIZE" help:"Bytes of these jobs (4GiB when created)."`
	ResultAge  time.Duration `placeholder:"TIME" help:"How long results are kept (72h when created)."`
	DeadAge    time.Duration `placeholder:"TIME" help:"How long dead letters are kept (336h when created)."`
	WitnessAge time.Duration `placeholder:"TIME" help:"How long an uploaded witness is kept that no worker has removed (as long as a dead letter)."`
	Update     bool          `help:"Change what differs, as far as the broker can change it."`

	Circuits bool `help:"Also register the circuits of the catalogue, so that producers find them by name before a worker runs."`
	Replace  bool `help:"With --circuits: a name that is registered with another key gets this one."`
}

func (*provisionCmd) Help() string {
	return "Creates what is missing and, without --update, changes nothing that is there: differences are printed, and make the command " +
		"fail (exit code 1). What isn't given on the command line is left as it was created. Workers must run with the same PINION_ACK_WAIT."
}

// brokerTime bounds what commands wait for the broker, beyond the work itself.
const brokerTime = 30 * time.Second

func (p *provisionCmd) Run(a *app) error {
	if p.Replace && !p.Circuits {
		return &usageError{errors.New("--replace goes with --circuits")}
	}
	config, err := a.config()
	if err != nil {
		return err
	}
	if config.NATS == service.Embedded {
		return &usageError{errors.New("PINION_NATS=embedded: pinion serve provisions its own broker")}
	}
	nc, err := config.Connect("pinion provision", config.Logger(a.stderr))
	if err != nil {
		return err
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	drift, err := p.provision(ctx, js, config.AckWait)
	if err != nil {
		return err
	}
	if err := a.print(driftJSON(drift), func(w io.Writer) {
		for _, d := range drift {
			fmt.Fprintln(w, d)
		}
	}); err != nil {
		return err
	}
	switch {
	case len(drift) > 0 && p.Update:
		return fmt.Errorf("%d differences on the broker are left, which it can't change", len(drift))
	case len(drift) > 0:
		return fmt.Errorf("%d differences on the broker; none was changed, which --update does", len(drift))
	}
	if p.Circuits {
		client, err := service.NewClient(ctx, nc)
		if err != nil {
			return err
		}
		return registerAll(ctx, config, client, p.Replace)
	}
	return nil
}

// provision creates, and changes if that is asked for, and returns what differs then.
func (p *provisionCmd) provision(ctx context.Context, js jetstream.JetStream, ackWait time.Duration) ([]queue.Drift, error) {
	options := queue.Options{
		Replicas: p.Replicas, Storage: queue.Storage(p.Storage), AckWait: ackWait, MaxJobs: p.MaxJobs, MaxBytes: int64(p.MaxBytes),
		ResultAge: p.ResultAge, DeadAge: p.DeadAge, WitnessAge: p.WitnessAge,
	}
	if err := options.Validate(); err != nil {
		return nil, &usageError{err}
	}
	drift, err := queue.Provision(ctx, js, options)
	if err != nil || !p.Update {
		return drift, err
	}
	return queue.Update(ctx, js, options)
}

func driftJSON(drift []queue.Drift) any {
	type line struct {
		Object string `json:"object"`
		Field  string `json:"field,omitempty"`
		Want   string `json:"want"`
		Got    string `json:"got"`
	}
	lines := make([]line, len(drift))
	for i, d := range drift {
		lines[i] = line(d)
	}
	return map[string]any{"drift": lines}
}

func registerAll(ctx context.Context, config *service.Config, client *queue.Client, replace bool) error {
	catalogue, err := config.OpenCatalogue()
	if err != nil {
		return err
	}
	infos, err := catalogue.List()
	for _, info := range infos {
		err = errors.Join(err, service.RegisterCircuit(ctx, client, info, replace))
	}
	return err
}

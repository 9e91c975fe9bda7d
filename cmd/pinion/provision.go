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
	Replicas int  `default:"1" help:"Copies that a cluster keeps of each stream."`
	Circuits bool `help:"Also register the circuits of the catalogue, so that producers find them by name before a worker runs."`
	Replace  bool `help:"With --circuits: a name that is registered with another key gets this one."`
}

func (*provisionCmd) Help() string {
	return "Creates what is missing and changes nothing that is there: differences are printed, and make the command fail (exit code 1). " +
		"Workers must run with the same PINION_ACK_WAIT."
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
	drift, err := queue.Provision(ctx, js, queue.Options{Replicas: p.Replicas, AckWait: config.AckWait})
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
	if len(drift) > 0 {
		return fmt.Errorf("%d differences on the broker; none was changed", len(drift))
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

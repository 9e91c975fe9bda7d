package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

type circuitPush struct {
	Circuit string `arg:"" help:"Name, or name@digest, of a circuit of the catalogue."`
	Replace bool   `help:"A name that means another circuit gets this one. Jobs that were submitted before keep theirs, which stays on the broker."`
}

func (*circuitPush) Help() string {
	return "Workers fetch a circuit when a job wants it, so they need nothing but the broker's address. The name is made to mean the circuit once " +
		"all of it is stored. A push that was interrupted goes on where it was; one of what is there already does nothing."
}

func (c *circuitPush) Run(a *app) error {
	catalogue, ref, err := a.lookUp(c.Circuit)
	if err != nil {
		return err
	}
	client, closeClient, err := a.client("circuit push")
	if err != nil {
		return err
	}
	defer closeClient()
	bar := a.bar()
	info, err := service.PushCircuit(a.ctx, client, catalogue, ref, c.Replace, bar.report)
	bar.close()
	if errors.Is(err, queue.ErrCircuitConflict) && !c.Replace {
		err = fmt.Errorf("%w; --replace makes it this one", err)
	}
	if err != nil {
		return at(catalogue, err)
	}
	a.warnForgeable(*info)
	return a.print(info, func(w io.Writer) { fmt.Fprintln(w, info.Ref()) })
}

type circuitPull struct {
	Circuit string `arg:"" help:"Name, or name@digest, of a circuit that was pushed."`
}

func (*circuitPull) Help() string {
	return "Workers do so by themselves. The circuit lies beside those that were added, by its name and digest; all is checked that an import checks. " +
		"That its key is the one of that digest is for who pushed it to answer for."
}

func (c *circuitPull) Run(a *app) error {
	catalogue, ref, err := a.lookUp(c.Circuit)
	if err != nil {
		return err
	}
	client, closeClient, err := a.client("circuit pull")
	if err != nil {
		return err
	}
	defer closeClient()
	if ref.Digest.IsZero() {
		record, err := client.Circuit(a.ctx, ref.Name)
		if err != nil {
			return err
		}
		if ref, err = circuit.ParseRef(record.Ref()); err != nil {
			return err
		}
	}
	bar := a.bar()
	info, _, err := service.PullCircuit(a.ctx, client, catalogue, ref, nil, bar.report)
	bar.close()
	if err != nil {
		return err
	}
	a.warnForgeable(*info)
	return a.print(info, func(w io.Writer) { fmt.Fprintln(w, info.Ref()) })
}

type circuitUse struct {
	Circuit string `arg:"" help:"name@digest of a circuit that was pushed."`
}

func (*circuitUse) Help() string {
	return "So a circuit that was replaced is brought back. Jobs that were submitted before keep the circuit that the name meant then."
}

func (c *circuitUse) Run(a *app) error {
	if _, _, err := queue.ParseCircuit(c.Circuit); err != nil {
		return &usageError{err}
	}
	client, closeClient, err := a.client("circuit use")
	if err != nil {
		return err
	}
	defer closeClient()
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	files, err := client.CircuitFiles(ctx, c.Circuit)
	if err != nil {
		return err
	}
	if err := client.RegisterCircuit(ctx, files.CircuitRecord, true); err != nil {
		return err
	}
	return a.print(newStored(queue.StoredCircuit{CircuitFiles: *files, Current: true}), func(w io.Writer) { fmt.Fprintln(w, files.Ref()) })
}

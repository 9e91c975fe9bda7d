package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/pinion-zk/pinion/queue"
)

// stored is what is printed of a circuit that was pushed.
type stored struct {
	Name    string           `json:"name"`
	Digest  string           `json:"digest"`
	Curve   string           `json:"curve"`
	Public  int              `json:"public"`
	Current bool             `json:"current"` // the name means it
	Bytes   int64            `json:"bytes"`
	Files   map[string]int64 `json:"files"` // bytes of each
}

func newStored(c queue.StoredCircuit) stored {
	s := stored{Name: c.Name, Digest: c.Digest, Curve: c.Curve, Public: c.Public, Current: c.Current, Bytes: c.Bytes(), Files: map[string]int64{}}
	for _, f := range c.Files {
		s.Files[f.Name] = f.Len
	}
	return s
}

// listStored lists the circuits on the broker.
func (a *app) listStored() error {
	client, closeClient, err := a.client("circuit list")
	if err != nil {
		return err
	}
	defer closeClient()
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	found, broken := client.StoredCircuits(ctx)
	circuits := []stored{}
	for _, c := range found {
		circuits = append(circuits, newStored(c))
	}
	return errors.Join(broken, a.print(circuits, func(w io.Writer) {
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		defer t.Flush()
		fmt.Fprintln(t, "NAME\tCURVE\tPUBLIC\tSIZE\tDIGEST\tNOTES")
		for _, c := range circuits {
			current := ""
			if c.Current {
				current = "current"
			}
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\n", c.Name, oneLine(c.Curve), c.Public, mebibytes(c.Bytes), c.Digest, current)
		}
	}))
}

// removeStored removes a circuit from the broker.
func (a *app) removeStored(ref string) error {
	if _, _, err := queue.ParseCircuit(ref); err != nil {
		return &usageError{err}
	}
	client, closeClient, err := a.client("circuit remove")
	if err != nil {
		return err
	}
	defer closeClient()
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	return client.RemoveCircuit(ctx, ref)
}

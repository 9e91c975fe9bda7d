package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// StoredCircuit is one of the circuits that lie in [BucketCircuits].
type StoredCircuit struct {
	CircuitFiles
	Current bool // its name means it
}

// StoredCircuits lists the circuits in the bucket, in order of their
// references. Those whose description can't be read are left out and told of
// by the error, which doesn't make the list less good.
func (c *Client) StoredCircuits(ctx context.Context) ([]StoredCircuit, error) {
	infos, err := c.circuits.list(ctx)
	if err != nil {
		return nil, err
	}
	current := map[string]bool{}
	var stored []StoredCircuit
	var broken []error
	for _, info := range infos {
		t := strings.Split(info.Name, ".")
		switch {
		case len(t) == 2 && t[0] == "name":
			current[t[1]+"@"+info.Metadata["digest"]] = true
		case len(t) == 3 && t[0] == "circuit" && ValidToken(t[1]):
			files, err := parseCircuitFiles(t[1], t[2], info.Metadata)
			if err != nil {
				broken = append(broken, err)
				continue
			}
			stored = append(stored, StoredCircuit{CircuitFiles: *files})
		}
	}
	for i := range stored {
		stored[i].Current = current[stored[i].Ref()]
	}
	slices.SortFunc(stored, func(a, b StoredCircuit) int { return strings.Compare(a.Ref(), b.Ref()) })
	return stored, errors.Join(broken...)
}

// RemoveCircuit removes a circuit from the bucket; workers that have it keep
// it. ErrCircuitConflict if its name means it: producers would submit jobs
// that no new worker could do.
func (c *Client) RemoveCircuit(ctx context.Context, ref string) error {
	files, err := c.CircuitFiles(ctx, ref)
	if err != nil {
		return err
	}
	switch record, err := c.Circuit(ctx, files.Name); {
	case errors.Is(err, ErrUnknownCircuit):
	case err != nil:
		return err
	case record.Digest == files.Digest:
		return fmt.Errorf("%w: %s is what the name means", ErrCircuitConflict, ref)
	}
	if err := c.circuits.remove(ctx, files.storedName()); err != nil {
		return err
	}
	return c.removeParts(ctx, files, nil)
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
)

// Jobs yields the records of all jobs, each once, the one that changed last at
// the end. A job of a producer that makes no record has one once a worker has
// taken it. An error with a nil status is the last thing that it yields; a
// record that can't be read comes as an error with a status that holds but its
// ID.
func (c *Client) Jobs(ctx context.Context) iter.Seq2[*Status, error] {
	return func(yield func(*Status, error) bool) {
		if err := c.jobs(ctx, yield); err != nil {
			yield(nil, err)
		}
	}
}

func (c *Client) jobs(ctx context.Context, yield func(*Status, error) bool) error {
	records, err := newDirectReader(c.nc, stateStream, stateSubject(jobKey("*")))
	if err != nil {
		return fmt.Errorf("queue: list jobs: %w", err)
	}
	defer func() { _ = records.close() }()
	seen := make(map[string]struct{}) // one that changes comes again
	for {
		record, err := records.message(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("queue: list jobs: %w", err)
		}
		id := strings.TrimPrefix(record.Subject, stateSubject(jobKey("")))
		if _, again := seen[id]; again || isMarker(record) {
			continue
		}
		seen[id] = struct{}{}
		st, err := decodeStatus(record.Data)
		if err != nil {
			st, err = &Status{Progress: Progress{ID: id}}, fmt.Errorf("queue: record %s: %w", jobKey(id), err)
		}
		if !yield(st, err) {
			return nil
		}
	}
}

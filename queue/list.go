package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/nats-io/nats.go/jetstream"
)

// Jobs yields the records of all jobs, the one that changed last at the end.
// A job of a producer that makes no record has one once a worker has taken it.
// An error with a nil status is the last thing that it yields; a record that
// can't be read comes as an error with a status that holds but its ID.
func (c *Client) Jobs(ctx context.Context) iter.Seq2[*Status, error] {
	return func(yield func(*Status, error) bool) {
		records, err := c.state.Watch(ctx, jobKey("*"), jetstream.IgnoreDeletes())
		if err != nil {
			yield(nil, fmt.Errorf("queue: list jobs: %w", err))
			return
		}
		defer func() { _ = records.Stop() }()
		for {
			select {
			case <-ctx.Done():
				yield(nil, context.Cause(ctx))
				return
			case entry, open := <-records.Updates():
				if !open {
					yield(nil, errors.New("queue: list jobs: interrupted"))
					return
				}
				if entry == nil { // all that there were
					return
				}
				st, err := decodeStatus(entry.Value())
				if err != nil {
					st, err = &Status{Progress: Progress{ID: entry.Key()[len(jobKey("")):]}}, fmt.Errorf("queue: record %s: %w", entry.Key(), err)
				}
				if !yield(st, err) {
					return
				}
			}
		}
	}
}

package queue

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// batchWindow is how many submissions of a batch wait for the broker at once.
const batchWindow = 64

// Submitted is what became of one request of a batch: one of the two is set.
type Submitted struct {
	Submission *Submission
	Err        error // of those that [Client.Submit] returns
}

// SubmitBatch submits each request as [Client.Submit] does, many at once, and
// returns what became of each, in their order. What goes wrong with one is
// nothing to the others. A batch may be repeated as a whole if its requests
// have ids. Those that it had not come to when ctx ended have its cause as
// their error.
func (c *Client) SubmitBatch(ctx context.Context, requests []Request) []Submitted {
	became := make([]Submitted, len(requests))
	var window errgroup.Group
	window.SetLimit(batchWindow)
	for i, r := range requests {
		window.Go(func() error {
			became[i] = c.submitted(ctx, r)
			return nil // each has its own error
		})
	}
	_ = window.Wait()
	return became
}

// submitted submits a request, unless ctx has ended.
func (c *Client) submitted(ctx context.Context, r Request) Submitted {
	if ctx.Err() != nil {
		return Submitted{Err: context.Cause(ctx)}
	}
	s, err := c.Submit(ctx, r)
	return Submitted{s, err}
}

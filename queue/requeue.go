package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nuid"
)

// MetaOrigin is the key in a requeued job's meta that holds the id of the job
// that failed.
const MetaOrigin = "origin"

// Requeue submits the job of a dead letter again, under another id: its own
// has its result. An empty newID is a random one. Circuit, priority, witnesses
// and reply stay as they were, uploaded witnesses are copied; the deadline,
// which may have passed, is left out. The dead letter stays.
//
// Errors: those of [Client.Submit], ErrNoDeadLetter, and [*MalformedError] for
// a job that can't be read.
func (c *Client) Requeue(ctx context.Context, id, newID string) (*Submission, error) {
	letter, err := c.DeadLetter(ctx, id)
	if err != nil {
		return nil, err
	}
	old, err := DecodeJob(letter.Body)
	if err != nil {
		return nil, fmt.Errorf("queue: requeue %s: %w", id, err)
	}
	priority, _, _, err := ParseJobSubject(letter.Subject)
	if err != nil {
		return nil, fmt.Errorf("queue: requeue %s: %w", id, err)
	}
	job := old.again(orElse(newID, nuid.Next()))
	job.Reply = orElse(job.Reply, letter.replyTo)
	if err := job.Validate(); err != nil {
		return nil, fmt.Errorf("queue: requeue %s: %w", id, err)
	}
	ctx, span := c.startSend(ctx, job.ID, priority)
	defer span.End()
	s, err := c.submit(ctx, job, priority, func() error { return c.copyWitnesses(ctx, old, job) })
	recordError(span, err)
	return s, err
}

// again is the job under another id.
func (j *Job) again(id string) *Job {
	job := *j
	job.ID, job.Deadline = id, time.Time{}
	job.Meta = map[string]string{}
	maps.Copy(job.Meta, j.Meta)
	job.Meta[MetaOrigin] = j.ID
	job.Witnesses = slices.Clone(j.Witnesses)
	for i, w := range j.Witnesses {
		if w.Object != nil {
			job.Witnesses[i].Object = &Object{Name: ObjectName(id, i, w.Object.SHA256), Len: w.Object.Len, SHA256: w.Object.SHA256}
		}
	}
	return &job
}

// copyWitnesses stores the uploaded witnesses of one job for another.
func (c *Client) copyWitnesses(ctx context.Context, from, to *Job) error {
	release, err := c.uploading(ctx)
	if err != nil {
		return err
	}
	defer release()
	for i, w := range from.Witnesses {
		if w.Object == nil {
			continue
		}
		if err := c.copyWitness(ctx, w.Object, to.Witnesses[i].Object); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) copyWitness(ctx context.Context, from, to *Object) error {
	if there, err := c.witness.has(ctx, to.Name, to.Len); there || err != nil {
		return err
	}
	r, err := c.witness.open(ctx, from)
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }() // read to its end or not at all
	return c.witness.put(ctx, to.Name, to.SHA256, r, nil)
}

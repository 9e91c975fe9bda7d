package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
)

// ErrNoWorker says that no worker of that name answers.
var ErrNoWorker = errors.New("no such worker")

// AskWorkers collects the answers of all workers for as long as it is told to, and returns them by name.
func AskWorkers(ctx context.Context, nc *nats.Conn, listen time.Duration) ([]Status, error) {
	ctx, stop := queue.Guard(ctx, nc, statusSubject)
	defer stop()
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("ask the workers: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	if err := nc.PublishRequest(statusSubject, inbox, nil); err != nil {
		return nil, fmt.Errorf("ask the workers: %w", err)
	}
	listening, cancel := context.WithTimeout(ctx, listen)
	defer cancel()
	workers := []Status{}
	for {
		msg, err := sub.NextMsgWithContext(listening)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			slices.SortFunc(workers, func(a, b Status) int { return strings.Compare(a.Worker, b.Worker) })
			return workers, nil
		case err != nil:
			return nil, fmt.Errorf("ask the workers: %w", err)
		}
		var s Status
		if err := json.Unmarshal(msg.Data, &s); err == nil && queue.ValidToken(s.Worker) { // else it is no worker
			workers = append(workers, s)
		}
	}
}

// TellWorker tells one worker to do what the verb says, one of Verbs, and returns its status from then. ErrNoWorker if it doesn't answer.
func TellWorker(ctx context.Context, nc *nats.Conn, worker, verb string) (*Status, error) {
	if !queue.ValidToken(worker) {
		return nil, fmt.Errorf("%w: %.80q", ErrNoWorker, worker)
	}
	subject := verbSubject(worker, verb)
	ctx, stop := queue.Guard(ctx, nc, subject)
	defer stop()
	msg, err := nc.RequestWithContext(ctx, subject, nil)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("%w: %s", ErrNoWorker, worker)
	} else if err != nil {
		return nil, fmt.Errorf("%s worker %s: %w", verb, worker, queue.Refusal(ctx, err))
	}
	var s Status
	if err := json.Unmarshal(msg.Data, &s); err != nil {
		return nil, fmt.Errorf("%s worker %s: %w", verb, worker, err)
	}
	return &s, nil
}

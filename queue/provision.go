package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Provision creates what is missing and compares what is there. It never
// changes what it finds: the drift is returned for the operator to judge.
// It may run again at any time, and by several at once. ErrNoPlace if the
// broker can't keep what is asked for.
func Provision(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	ctx, stop := Guard(ctx, js.Conn(), "$JS.API.")
	defer stop()
	if err := create(ctx, js, o); err != nil {
		return nil, Refusal(ctx, err)
	}
	return Compare(ctx, js, o)
}

// create makes what is missing.
func create(ctx context.Context, js jetstream.JetStream, o Options) error {
	if jobs, err := js.Stream(ctx, StreamJobs); err == nil {
		o = o.like(jobs.CachedInfo().Config)
	}
	o = o.withDefaults()
	for _, cfg := range o.streams() {
		err := patiently(ctx, func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, cfg)
			return err
		})
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return fmt.Errorf("queue: create stream %s: %w", cfg.Name, placed(err, cfg))
		}
	}
	for _, cfg := range o.consumers() {
		err := patiently(ctx, func(ctx context.Context) error {
			_, err := js.CreateConsumer(ctx, StreamJobs, cfg)
			return err
		})
		if err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
			return fmt.Errorf("queue: create consumer %s: %w", cfg.Durable, err)
		}
	}
	return nil
}

// placed tells a stream that the broker has no place for from other errors,
// and says why not, or that it has no JetStream.
func placed(err error, cfg jetstream.StreamConfig) error {
	if errors.Is(err, nats.ErrNoResponders) {
		return fmt.Errorf("JetStream doesn't answer: a server has it with -js, or with jetstream in its configuration: %w", err)
	}
	api, ok := errors.AsType[*jetstream.APIError](err)
	if !ok {
		return err
	}
	const (
		noPeers       = 10005
		noResources   = 10023
		noMemory      = 10028
		noStorage     = 10047
		singleReplica = 10074
	)
	switch api.ErrorCode {
	case singleReplica:
		return fmt.Errorf("%w: %d replicas on a single server, which keeps 1: %w", ErrNoPlace, cfg.Replicas, err)
	case noPeers:
		return fmt.Errorf("%w: %d replicas, for which the cluster has too few servers with room: %w", ErrNoPlace, cfg.Replicas, err)
	case noResources, noMemory, noStorage:
		return fmt.Errorf("%w: up to %d bytes of it: %w", ErrNoPlace, max(cfg.MaxBytes, 0), err)
	}
	return err
}

// streams are the streams of the contract, those behind the buckets too.
func (o Options) streams() []jetstream.StreamConfig {
	streams := []jetstream.StreamConfig{{
		// At most one message for each subject, so that a job can't be queued
		// twice while it is queued or in flight. No age: a job isn't lost.
		Name:                 StreamJobs,
		Subjects:             laneSubjects(),
		Retention:            jetstream.WorkQueuePolicy,
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    1,
		MaxMsgs:              o.MaxJobs,
		MaxBytes:             o.MaxBytes,
		MaxMsgSize:           MaxJobBytes,
		Duplicates:           2 * time.Minute,
	}, {
		// The first result wins: a second is refused, and not republished.
		Name:                 StreamResults,
		Subjects:             []string{"pinion.result.*"},
		Discard:              jetstream.DiscardNew,
		DiscardNewPerSubject: true,
		MaxMsgsPerSubject:    1,
		MaxAge:               o.ResultAge,
		MaxMsgSize:           MaxResultBytes,
		Duplicates:           2 * time.Minute,
		AllowDirect:          true,
		RePublish:            &jetstream.RePublish{Source: "pinion.result.*", Destination: "pinion.done.{{wildcard(1)}}"},
	}, {
		Name:              StreamDead,
		Subjects:          []string{"pinion.dead.*"},
		MaxMsgsPerSubject: 8,
		MaxAge:            o.DeadAge,
		Duplicates:        2 * time.Minute,
	}, {
		// Leases expire by themselves: a TTL on each of their messages.
		Name:              "KV_" + BucketState,
		Subjects:          []string{"$KV." + BucketState + ".>"},
		Discard:           jetstream.DiscardNew,
		MaxMsgsPerSubject: 1,
		MaxAge:            24 * time.Hour,
		Duplicates:        2 * time.Minute,
		AllowDirect:       true,
		DenyDelete:        true,
		AllowMsgTTL:       true,
	}, bucket(BucketWitness, o.WitnessAge), bucket(BucketCircuits, 0)}
	for i := range streams {
		streams[i].Storage, streams[i].Replicas = o.Storage.broker(), o.Replicas
	}
	return streams
}

// laneSubjects are the lanes one by one: a job that no consumer would see
// must not be stored.
func laneSubjects() []string {
	var subjects []string
	for _, p := range Priorities() {
		subjects = append(subjects, p.Lane()+".*.*")
	}
	return subjects
}

func bucket(name string, age time.Duration) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:        "OBJ_" + name,
		Subjects:    []string{"$O." + name + ".C.>", "$O." + name + ".M.>"},
		Discard:     jetstream.DiscardNew,
		MaxAge:      age,
		Duplicates:  2 * time.Minute,
		AllowDirect: true,
		AllowRollup: true,
		AllowMsgTTL: true,
	}
}

// consumers are one for each priority. Attempts are counted in the job's
// record, so MaxDeliver is but a backstop: a job past it would stay in the
// stream for ever. All jobs may be in flight: what a fleet has in hand is
// bounded by its workers. One job a pull, so that no client library can hoard;
// a worker has at most 1 + lookAhead pulls open at a consumer, most of the
// time one, so that there is room for those of 240 workers.
func (o Options) consumers() []jetstream.ConsumerConfig {
	var consumers []jetstream.ConsumerConfig
	for _, p := range Priorities() {
		consumers = append(consumers, jetstream.ConsumerConfig{
			Durable:         p.Consumer(),
			FilterSubject:   p.Lane() + ".*.*",
			AckPolicy:       jetstream.AckExplicitPolicy,
			AckWait:         o.AckWait,
			MaxDeliver:      100_000,
			MaxAckPending:   int(o.MaxJobs),
			MaxRequestBatch: 1,
			MaxWaiting:      4096,
		})
	}
	return consumers
}

package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Options are what an operator may choose of the streams; the rest is the
// contract.
type Options struct {
	Replicas  int                   // default 1
	Storage   jetstream.StorageType // default FileStorage
	AckWait   time.Duration         // default 30 s, at least 1 s; a lease lives twice as long
	MaxJobs   int64                 // default 10,000 queued or in flight
	MaxBytes  int64                 // of queued jobs; default 4 GiB
	ResultAge time.Duration         // default 72 h
	DeadAge   time.Duration         // default 14 days; also of uploaded witnesses
}

func (o Options) withDefaults() Options {
	set(&o.Replicas, 1)
	set(&o.AckWait, 30*time.Second)
	set(&o.MaxJobs, 10_000)
	set(&o.MaxBytes, 4<<30)
	set(&o.ResultAge, 72*time.Hour)
	set(&o.DeadAge, 14*24*time.Hour)
	return o
}

// set gives a field that is zero its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Provision creates what is missing and compares what is there. It never
// changes what it finds: the drift is returned for the operator to judge.
// It may run again at any time, and by several at once.
func Provision(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	ctx, stop := Guard(ctx, js.Conn(), "$JS.API.")
	defer stop()
	drift, err := provision(ctx, js, o.withDefaults())
	return drift, Refusal(ctx, err)
}

func provision(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	if o.AckWait < time.Second {
		return nil, fmt.Errorf("queue: ack wait %s: expected at least 1s", o.AckWait)
	}
	for _, cfg := range o.streams() {
		_, err := js.CreateStream(ctx, cfg)
		if err != nil && !errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			return nil, fmt.Errorf("queue: create stream %s: %w", cfg.Name, err)
		}
	}
	for _, cfg := range o.consumers() {
		_, err := js.CreateConsumer(ctx, StreamJobs, cfg)
		if err != nil && !errors.Is(err, jetstream.ErrConsumerExists) {
			return nil, fmt.Errorf("queue: create consumer %s: %w", cfg.Durable, err)
		}
	}
	return compare(ctx, js, o)
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
	}, bucket(BucketWitness, o.DeadAge), bucket(BucketCircuits, 0)}
	for i := range streams {
		streams[i].Storage, streams[i].Replicas = o.Storage, o.Replicas
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

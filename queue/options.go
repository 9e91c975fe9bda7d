package queue

import (
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Options are what an operator may choose of streams, buckets and consumers;
// the rest is the contract. A field that is zero isn't chosen: what is created
// gets the default, and what exists is left as it is, without a drift.
type Options struct {
	Replicas   int           // copies on a cluster, 1 to 5; default 1
	Storage    Storage       // default File
	AckWait    time.Duration // at least 1 s, default 30 s; a lease lives twice as long
	MaxJobs    int64         // queued or in flight; default 10,000
	MaxBytes   int64         // of these jobs, at least that of one; default 4 GiB
	ResultAge  time.Duration // at least 2 minutes, default 72 h
	DeadAge    time.Duration // of dead letters, at least 2 minutes; default 14 days
	WitnessAge time.Duration // of uploaded witnesses, at least DeadAge; default DeadAge
}

// Storage is where the broker keeps messages.
type Storage string

// Kinds of storage. What is in memory is gone with the last server that has it.
const (
	File   Storage = "file"
	Memory Storage = "memory"
)

func (s Storage) broker() jetstream.StorageType {
	if s == Memory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// duplicateWindow is how long the broker knows a message's id again; nothing
// may live shorter.
const duplicateWindow = 2 * time.Minute

// Validate reports the first field that is outside its bounds.
func (o Options) Validate() error {
	age := func(name string, d, least time.Duration) error {
		if d != 0 && d < least {
			return fmt.Errorf("queue: %s: found %s, expected at least %s", name, d, least)
		}
		return nil
	}
	switch {
	case o.Replicas < 0 || o.Replicas > 5:
		return fmt.Errorf("queue: replicas: found %d, expected 1 to 5", o.Replicas)
	case o.Storage != "" && o.Storage != File && o.Storage != Memory:
		return fmt.Errorf("queue: storage: found %.40q, expected file or memory", string(o.Storage))
	case o.MaxJobs < 0:
		return fmt.Errorf("queue: number of jobs: found %d, expected at least 1", o.MaxJobs)
	case o.MaxBytes != 0 && o.MaxBytes < MaxJobBytes:
		return fmt.Errorf("queue: bytes of jobs: found %d, expected at least the %d of one", o.MaxBytes, MaxJobBytes)
	}
	for _, err := range []error{
		age("ack wait", o.AckWait, time.Second),
		age("age of results", o.ResultAge, duplicateWindow),
		age("age of dead letters", o.DeadAge, duplicateWindow),
		age("age of witnesses", o.WitnessAge, o.withDefaults().DeadAge),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

func (o Options) withDefaults() Options {
	set(&o.Replicas, 1)
	set(&o.Storage, File)
	set(&o.AckWait, 30*time.Second)
	set(&o.MaxJobs, 10_000)
	set(&o.MaxBytes, 4<<30)
	set(&o.ResultAge, 72*time.Hour)
	set(&o.DeadAge, 14*24*time.Hour)
	set(&o.WitnessAge, o.DeadAge)
	return o
}

// set gives a field that is zero its default.
func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// like chooses, where nothing is chosen, how many copies there are and where,
// as a stream that exists has it: what is added later is kept like the rest.
func (o Options) like(found jetstream.StreamConfig) Options {
	set(&o.Replicas, found.Replicas)
	if found.Storage == jetstream.MemoryStorage {
		set(&o.Storage, Memory)
	}
	return o
}

// adopt gives a stream of these options, defaults included, what was found
// wherever nothing was chosen.
func (o Options) adopt(want, found jetstream.StreamConfig) jetstream.StreamConfig {
	if o.Replicas == 0 {
		want.Replicas = found.Replicas
	}
	if o.Storage == "" {
		want.Storage = found.Storage
	}
	ages := map[string]time.Duration{StreamResults: o.ResultAge, StreamDead: o.DeadAge, "OBJ_" + BucketWitness: max(o.WitnessAge, o.DeadAge)}
	if age, ok := ages[want.Name]; ok && age == 0 {
		want.MaxAge = found.MaxAge
	}
	if want.Name == StreamJobs {
		if o.MaxJobs == 0 {
			want.MaxMsgs = found.MaxMsgs
		}
		if o.MaxBytes == 0 {
			want.MaxBytes = found.MaxBytes
		}
	}
	return want
}

// adoptConsumer is adopt for a consumer.
func (o Options) adoptConsumer(want, found jetstream.ConsumerConfig) jetstream.ConsumerConfig {
	if o.AckWait == 0 {
		want.AckWait = found.AckWait
	}
	return want
}

package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Drift is a difference between what there is and what the options ask for.
type Drift struct {
	Object string // "stream PINION_JOBS", "consumer pinion-high", ...
	Field  string // as the broker calls it; empty if the object is missing
	Want   string // JSON
	Got    string // JSON
}

// String says the drift in one line.
func (d Drift) String() string {
	if d.Field == "" {
		return d.Object + ": missing"
	}
	return fmt.Sprintf("%s: %s is %s, expected %s", d.Object, d.Field, d.said(d.Got), d.said(d.Want))
}

// said is a value as people read it: the broker's times are nanoseconds.
func (d Drift) said(value string) string {
	switch d.Field {
	case "max_age", "ack_wait", "duplicate_window":
		if ns, err := strconv.ParseInt(value, 10, 64); err == nil {
			return time.Duration(ns).String()
		}
	}
	return orElse(value, "not set")
}

// Compare reports the drift, missing objects included, and changes nothing.
func Compare(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	ctx, stop := Guard(ctx, js.Conn(), "$JS.API.")
	defer stop()
	drift, err := o.each(ctx, js,
		func(_, _ jetstream.StreamConfig) error { return nil },
		func(_, _ jetstream.ConsumerConfig) error { return nil })
	return drift, Refusal(ctx, err)
}

// Update changes what differs, as far as the broker can change it, and returns
// the drift that is left: what is missing, which Provision creates, and what is
// fixed once it is created. Names, descriptions, metadata, placement and a
// pause of the fleet stay as they are. The error is the first refusal of the
// broker, which ends it.
func Update(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	ctx, stop := Guard(ctx, js.Conn(), "$JS.API.")
	defer stop()
	_, err := o.each(ctx, js,
		func(want, found jetstream.StreamConfig) error {
			want.Storage, want.Retention = found.Storage, found.Retention // fixed
			want.Description, want.Metadata, want.Placement = found.Description, found.Metadata, found.Placement
			_, err := js.UpdateStream(ctx, want)
			return placed(err, want)
		},
		func(want, found jetstream.ConsumerConfig) error {
			want.DeliverPolicy, want.AckPolicy = found.DeliverPolicy, found.AckPolicy // fixed
			want.Description, want.Metadata, want.PauseUntil = found.Description, found.Metadata, found.PauseUntil
			_, err := js.UpdateConsumer(ctx, StreamJobs, want)
			return err
		})
	if err != nil {
		return nil, Refusal(ctx, err)
	}
	return Compare(ctx, js, o)
}

// each hands what differs to one of two functions, and returns how it differed.
func (o Options) each(ctx context.Context, js jetstream.JetStream,
	stream func(want, found jetstream.StreamConfig) error, consumer func(want, found jetstream.ConsumerConfig) error,
) ([]Drift, error) {
	var drift []Drift
	all := o.withDefaults()
	for _, want := range all.streams() {
		object := "stream " + want.Name
		s, err := js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			drift = append(drift, Drift{Object: object})
			continue
		} else if err != nil {
			return nil, fmt.Errorf("queue: %s: %w", object, err)
		}
		found := s.CachedInfo().Config
		want = o.adopt(want, found)
		if want.Name == StreamJobs {
			all.MaxJobs = want.MaxMsgs
		}
		if d := differ(object, want, found); len(d) > 0 {
			drift = append(drift, d...)
			if err := stream(want, found); err != nil {
				return nil, fmt.Errorf("queue: change %s: %w", object, err)
			}
		}
	}
	for _, want := range all.consumers() {
		object := "consumer " + want.Durable
		c, err := js.Consumer(ctx, StreamJobs, want.Durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			drift = append(drift, Drift{Object: object})
			continue
		} else if err != nil {
			return nil, fmt.Errorf("queue: %s: %w", object, err)
		}
		found := c.CachedInfo().Config
		want = o.adoptConsumer(want, found)
		if d := differ(object, want, found); len(d) > 0 {
			drift = append(drift, d...)
			if err := consumer(want, found); err != nil {
				return nil, fmt.Errorf("queue: change %s: %w", object, err)
			}
		}
	}
	return drift, nil
}

// differ compares two configurations field by field in their JSON form, which
// covers fields that neither we nor this client library's version set.
func differ(object string, want, got any) []Drift {
	w, g := flatten(want), flatten(got)
	var drift []Drift
	for _, field := range slices.Sorted(maps.Keys(merged(w, g))) {
		if w[field] != g[field] {
			drift = append(drift, Drift{Object: object, Field: field, Want: w[field], Got: g[field]})
		}
	}
	return drift
}

// flatten is a configuration as field -> JSON. Fields that mean "no limit" or
// "default" whether absent, zero or -1, what the broker adds for its own
// information, and an operator's pause are left out.
func flatten(cfg any) map[string]string {
	data, err := json.Marshal(cfg)
	if err != nil { // configurations are plain data
		panic(err)
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		panic(err)
	}
	fields := make(map[string]string, len(raw))
	for field, value := range raw {
		if !ignored[field] && !unset[string(value)] {
			fields[field] = string(value)
		}
	}
	return fields
}

var (
	ignored = map[string]bool{"name": true, "description": true, "metadata": true, "placement": true, "pause_until": true}
	unset   = map[string]bool{"0": true, "-1": true, "null": true, "false": true, `""`: true, "{}": true}
)

func merged(a, b map[string]string) map[string]string {
	m := maps.Clone(a)
	maps.Copy(m, b)
	return m
}

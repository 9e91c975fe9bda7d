package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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
	return fmt.Sprintf("%s: %s is %s, expected %s", d.Object, d.Field, d.Got, d.Want)
}

// Compare reports the drift, missing objects included, and changes nothing.
func Compare(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	ctx, stop := Guard(ctx, js.Conn(), "$JS.API.")
	defer stop()
	drift, err := compare(ctx, js, o.withDefaults())
	return drift, Refusal(ctx, err)
}

func compare(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	var drift []Drift
	for _, want := range o.streams() {
		object := "stream " + want.Name
		stream, err := js.Stream(ctx, want.Name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			drift = append(drift, Drift{Object: object})
			continue
		} else if err != nil {
			return nil, fmt.Errorf("queue: %s: %w", object, err)
		}
		drift = append(drift, differ(object, want, stream.CachedInfo().Config)...)
	}
	for _, want := range o.consumers() {
		object := "consumer " + want.Durable
		consumer, err := js.Consumer(ctx, StreamJobs, want.Durable)
		if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
			drift = append(drift, Drift{Object: object})
			continue
		} else if err != nil {
			return nil, fmt.Errorf("queue: %s: %w", object, err)
		}
		drift = append(drift, differ(object, want, consumer.CachedInfo().Config)...)
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

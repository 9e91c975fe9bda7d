package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Options are what an operator may choose of the streams; the rest is the
// contract.
type Options struct {
	Replicas  int                   // default 1
	Storage   jetstream.StorageType // default FileStorage
	AckWait   time.Duration         // default 30 s; a lease lives twice as long
	MaxJobs   int64                 // default 10,000 queued or in flight
	MaxBytes  int64                 // of queued jobs; default 4 GiB
	ResultAge time.Duration         // default 72 h
	DeadAge   time.Duration         // default 14 days; also of uploaded witnesses
}

// Drift is a difference between what there is and what the options ask for.
type Drift struct {
	Object string // "stream PINION_JOBS", "consumer pinion-high", ...
	Field  string // empty if the object is missing
	Want   string
	Got    string
}

// String says the drift in one line.
func (d Drift) String() string { return "" }

// Provision creates what is missing and compares what is there. It never
// changes what it finds: the drift is returned for the operator to judge.
func Provision(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	return nil, errors.ErrUnsupported
}

// Compare reports the drift, missing objects included, and changes nothing.
func Compare(ctx context.Context, js jetstream.JetStream, o Options) ([]Drift, error) {
	return nil, errors.ErrUnsupported
}

package queue

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestProvisionIsIdempotentAndReportsDrift(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	js, o := b.js(), Options{AckWait: ackWait, MaxJobs: 10_000, MaxBytes: 256 << 20}
	if drift, err := Provision(ctx(t), js, o); err != nil || len(drift) != 0 {
		t.Fatalf("again: drift %v, error %v", drift, err)
	}

	// A stream and a consumer that somebody changed, and one that is gone.
	s, err := js.Stream(ctx(t), StreamJobs)
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 7
	if _, err := js.UpdateStream(ctx(t), cfg); err != nil {
		t.Fatal(err)
	}
	c, err := js.Consumer(ctx(t), StreamJobs, High.Consumer())
	if err != nil {
		t.Fatal(err)
	}
	ccfg := c.CachedInfo().Config
	ccfg.MaxAckPending = 3
	if _, err := js.UpdateConsumer(ctx(t), StreamJobs, ccfg); err != nil {
		t.Fatal(err)
	}
	if err := js.DeleteConsumer(ctx(t), StreamJobs, Low.Consumer()); err != nil {
		t.Fatal(err)
	}
	want := []Drift{
		{"stream PINION_JOBS", "max_msgs", "10000", "7"},
		{"consumer pinion-high", "max_ack_pending", "10000", "3"},
		{Object: "consumer pinion-low"},
	}
	check := func(got []Drift, err error) {
		t.Helper()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("drift %v, %v, want %v", got, err, want)
		}
	}
	check(Compare(ctx(t), js, o))
	want = want[:2] // the missing one is made, the changed ones are left alone
	check(Provision(ctx(t), js, o))
	if s := want[0].String(); s != "stream PINION_JOBS: max_msgs is 7, expected 10000" {
		t.Error(s)
	}
	if s := (Drift{"stream PINION_DEAD", "max_age", "3600000000000", ""}).String(); s != "stream PINION_DEAD: max_age is not set, expected 1h0m0s" {
		t.Error(s)
	}
	if s := (Drift{Object: "consumer pinion-low"}).String(); s != "consumer pinion-low: missing" {
		t.Error(s)
	}
}

func TestProvisionedBucketsAreNATSBuckets(t *testing.T) {
	t.Parallel()
	js := startBroker(t).js()
	if _, err := js.KeyValue(ctx(t), BucketState); err != nil {
		t.Error(err)
	}
	for _, name := range []string{BucketWitness, BucketCircuits} {
		if _, err := js.ObjectStore(ctx(t), name); err != nil {
			t.Error(name, err)
		}
	}
}

// A field that isn't chosen is left as an operator chose it before, and what is
// added later is kept where the rest is.
func TestProvisionLeavesWhatIsNotChosen(t *testing.T) {
	t.Parallel()
	b := newBroker(t)
	js := b.js()
	chosen := Options{
		Replicas: 1, Storage: Memory, AckWait: 2 * time.Second, MaxJobs: 7, MaxBytes: 8 << 20,
		ResultAge: 5 * time.Hour, DeadAge: 6 * time.Hour, WitnessAge: 7 * time.Hour,
	}
	if drift, err := Provision(ctx(t), js, chosen); err != nil || len(drift) != 0 {
		t.Fatalf("drift %v, error %v", drift, err)
	}
	if err := js.DeleteStream(ctx(t), StreamDead); err != nil {
		t.Fatal(err)
	}
	if drift, err := Provision(ctx(t), js, Options{DeadAge: 6 * time.Hour, WitnessAge: 7 * time.Hour}); err != nil || len(drift) != 0 {
		t.Errorf("drift %v, error %v", drift, err)
	}
	drift, err := Compare(ctx(t), js, chosen)
	if err != nil || len(drift) != 0 {
		t.Errorf("drift %v, error %v", drift, err)
	}
	want := []Drift{
		{"stream PINION_JOBS", "max_bytes", "9437184", "8388608"},
		{"stream PINION_JOBS", "max_msgs", "8", "7"},
		{"stream PINION_RESULTS", "max_age", "21600000000000", "18000000000000"},
		{"stream PINION_DEAD", "max_age", "32400000000000", "21600000000000"},
		{"stream OBJ_pinion_witness", "max_age", "32400000000000", "25200000000000"},
		{"consumer pinion-high", "ack_wait", "3000000000", "2000000000"},
		{"consumer pinion-high", "max_ack_pending", "8", "7"},
		{"consumer pinion-normal", "ack_wait", "3000000000", "2000000000"},
		{"consumer pinion-normal", "max_ack_pending", "8", "7"},
		{"consumer pinion-low", "ack_wait", "3000000000", "2000000000"},
		{"consumer pinion-low", "max_ack_pending", "8", "7"},
	}
	other := Options{AckWait: 3 * time.Second, MaxJobs: 8, MaxBytes: 9 << 20, ResultAge: 6 * time.Hour, DeadAge: 9 * time.Hour}
	if drift, err := Provision(ctx(t), js, other); err != nil || !slices.Equal(drift, want) {
		t.Errorf("drift %v, error %v", drift, err)
	}
	if drift, err := Update(ctx(t), js, other); err != nil || len(drift) != 0 {
		t.Errorf("after the update: drift %v, error %v", drift, err)
	}
}

// An update changes what differs and nothing else, though the broker takes
// whole configurations: what operators note on streams, and a pause of the
// fleet, stay. What can't be changed is told.
func TestUpdateLeavesTheRest(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	note := map[string]string{"owner": "ops"}
	cfg := mustStream(t, c, StreamJobs).CachedInfo().Config
	cfg.MaxMsgs, cfg.Description, cfg.Metadata = 7, "jobs", note
	if _, err := c.js.UpdateStream(ctx(t), cfg); err != nil {
		t.Fatal(err)
	}
	lane, err := c.js.Consumer(ctx(t), StreamJobs, High.Consumer())
	if err != nil {
		t.Fatal(err)
	}
	high := lane.CachedInfo().Config
	high.MaxAckPending, high.Description, high.Metadata = 3, "urgent", note
	if _, err := c.js.UpdateConsumer(ctx(t), StreamJobs, high); err != nil {
		t.Fatal(err)
	}
	if err := c.PauseFleet(ctx(t), time.Hour); err != nil {
		t.Fatal(err)
	}
	left, err := Update(ctx(t), c.js, Options{MaxJobs: 9, Storage: Memory})
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 6 || left[0] != (Drift{"stream PINION_JOBS", "storage", `"memory"`, `"file"`}) {
		t.Errorf("drift left: %v, want the storage of each stream", left)
	}
	cfg = mustStream(t, c, StreamJobs).CachedInfo().Config
	if cfg.MaxMsgs != 9 || cfg.Description != "jobs" || cfg.Metadata["owner"] != "ops" || cfg.MaxBytes != 256<<20 {
		t.Errorf("stream %+v", cfg)
	}
	if lane, err = c.js.Consumer(ctx(t), StreamJobs, High.Consumer()); err != nil {
		t.Fatal(err)
	}
	high = lane.CachedInfo().Config
	if high.MaxAckPending != 9 || high.AckWait != ackWait || high.MaxDeliver != 100_000 || high.Description != "urgent" || high.Metadata["owner"] != "ops" {
		t.Errorf("consumer %+v", high)
	}
	if paused, err := c.FleetPaused(ctx(t)); err != nil || paused < 50*time.Minute {
		t.Errorf("paused for %s, %v", paused, err)
	}
}

// What a broker can't keep is told in our words, and in its own.
func TestProvisionWithoutAPlace(t *testing.T) {
	t.Parallel()
	js := newBroker(t).js()
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Replicas: 3}, "queue: create stream PINION_JOBS: queue: no place on the broker: 3 replicas on a single server, which keeps 1: "},
		{Options{MaxBytes: 1 << 60}, "queue: create stream PINION_JOBS: queue: no place on the broker: up to 1152921504606846976 bytes of it: "},
	} {
		_, err := Provision(ctx(t), js, test.o)
		if !errors.Is(err, ErrNoPlace) || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%+v: %v", test.o, err)
		}
		if _, ok := errors.AsType[*jetstream.APIError](err); !ok {
			t.Errorf("%+v: %v: without the broker's words", test.o, err)
		}
	}
}

// A server without JetStream answers nothing: say what is missing.
func TestProvisionWithoutJetStream(t *testing.T) {
	t.Parallel()
	err := placed(nats.ErrNoResponders, jetstream.StreamConfig{})
	if !errors.Is(err, nats.ErrNoResponders) || !strings.HasPrefix(err.Error(), "JetStream doesn't answer: a server has it with -js") {
		t.Error(err)
	}
}

func TestOptionsOutOfBounds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Replicas: 6}, "queue: replicas: found 6, expected 1 to 5"},
		{Options{Replicas: -1}, "queue: replicas: found -1, expected 1 to 5"},
		{Options{Storage: "disk"}, `queue: storage: found "disk", expected file or memory`},
		{Options{AckWait: time.Millisecond}, "queue: ack wait: found 1ms, expected at least 1s"},
		{Options{MaxJobs: -1}, "queue: number of jobs: found -1, expected at least 1"},
		{Options{MaxBytes: 1000}, "queue: bytes of jobs: found 1000, expected at least the 983040 of one"},
		{Options{ResultAge: time.Minute}, "queue: age of results: found 1m0s, expected at least 2m0s"},
		{Options{DeadAge: -time.Hour}, "queue: age of dead letters: found -1h0m0s, expected at least 2m0s"},
		{Options{WitnessAge: 2 * time.Hour}, "queue: age of witnesses: found 2h0m0s, expected at least 336h0m0s"},
		{Options{DeadAge: 3 * time.Hour, WitnessAge: 2 * time.Hour}, "queue: age of witnesses: found 2h0m0s, expected at least 3h0m0s"},
	} {
		for _, f := range []func() ([]Drift, error){
			func() ([]Drift, error) { return Provision(ctx(t), nil, test.o) },
			func() ([]Drift, error) { return Update(ctx(t), nil, test.o) },
		} {
			if _, err := f(); err == nil || err.Error() != test.want {
				t.Errorf("%+v: %v, want %s", test.o, err, test.want)
			}
		}
	}
}

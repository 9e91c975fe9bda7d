package queue

import (
	"testing"
)

func TestProvisionIsIdempotentAndReportsDrift(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	js, o := b.js(), Options{AckWait: ackWait, MaxBytes: 256 << 20}
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
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("drift %v, want %v", got, want)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("drift %v, want %v", got[i], want[i])
			}
		}
	}
	check(Compare(ctx(t), js, o))
	want = want[:2] // the missing one is made, the changed ones are left alone
	check(Provision(ctx(t), js, o))
	if s := want[0].String(); s != "stream PINION_JOBS: max_msgs is 7, expected 10000" {
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

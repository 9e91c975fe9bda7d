package service

import (
	"context"
	"log/slog"
	"regexp"
	"testing"

	"github.com/pinion-zk/pinion/queue"
)

// A fleet of small workers only: a job that none of them can ever fit ends at the limit of deferrals, and says what it would take and what
// there was. No attempt is burned.
func TestSmallFleetEndsAtTheDeferralLimit(t *testing.T) {
	t.Parallel()
	config := testConfig(t)
	config.Jobs = 1
	config.Memory = intakeBytes + 4096
	s, err := Start(t.Context(), config, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	worker, err := queue.NewWorker(t.Context(), s.nc, queue.WorkerConfig{Name: "small", Handler: s.handler(s.circuits.metrics), MaxDeferrals: 1, Log: s.log})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()

	client := connectClient(t, config, s.URL())
	waiting, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := client.Submit(waiting, queue.Request{ID: "big", Circuit: "multiplier", Witnesses: []queue.Source{queue.Wtns(exampleWitness(t))}}); err != nil {
		t.Fatal(err)
	}
	r, err := client.Wait(waiting, "big")
	if err != nil {
		t.Fatal(err)
	}
	says := regexp.MustCompile(`^handed on 1 times: needs \S+iB of memory, the worker has 4KiB in all$`)
	if r.State != queue.Failed || r.Err.Code != queue.CodeDeferrals || r.Attempt != 1 || !says.MatchString(r.Err.Msg) {
		t.Errorf("%s, attempt %d: %v", r.State, r.Attempt, r.Err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
}

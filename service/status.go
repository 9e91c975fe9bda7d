package service

import (
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// status is what a worker answers on pinion.status, as JSON.
type status struct {
	Worker  string    `json:"worker"`
	Version string    `json:"version"`
	Ready   bool      `json:"ready"`
	Reason  string    `json:"reason,omitempty"` // why it isn't ready
	Device  string    `json:"device"`
	Memory  memoryUse `json:"memory"`
	Loaded  int       `json:"circuits_loaded"`
	Proofs  int64     `json:"proofs"`
	Jobs    jobCounts `json:"jobs"`
}

// jobCounts are queue.Stats under their names in JSON.
type jobCounts struct {
	Done      int64 `json:"done"`
	Failed    int64 `json:"failed"`
	Cancelled int64 `json:"cancelled"`
	Expired   int64 `json:"expired"`
	Deferred  int64 `json:"deferred"`
	Retried   int64 `json:"retried"`
	LeaseLost int64 `json:"lease_lost"`
	InHand    int64 `json:"in_hand"`
}

// memoryUse is in bytes.
type memoryUse struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"`
}

// statusVersion is the version of the status service as NATS micro has it: that of its answers.
const statusVersion = "1.0.0"

// announce makes the worker answer on pinion.status, and to the discovery of NATS micro services ($SRV.PING.pinion and its like).
// Every worker answers, so whoever asks collects answers for a while.
func announce(nc *nats.Conn, worker string, now func() status) (micro.Service, error) {
	s, err := micro.AddService(nc, micro.Config{
		Name:               "pinion",
		Version:            statusVersion,
		Description:        "Groth16 proving workers",
		Metadata:           map[string]string{"worker": worker, "version": Version()},
		QueueGroupDisabled: true,
	})
	if err != nil {
		return nil, fmt.Errorf("status service: %w", err)
	}
	answer := micro.HandlerFunc(func(r micro.Request) { _ = r.RespondJSON(now()) }) // the one error is a connection that has gone
	if err := s.AddEndpoint("status", answer, micro.WithEndpointSubject("pinion.status")); err != nil {
		return nil, fmt.Errorf("status service: %w", err)
	}
	return s, nil
}

func (s *Service) status() status {
	now := s.prover.snapshot()
	answer := status{
		Worker:  s.config.Worker,
		Version: Version(),
		Ready:   true,
		Device:  s.prover.executor.Info().Name,
		Memory:  memoryUse{Total: now.budget.Total(), Used: now.budget.Used()},
		Loaded:  now.engine.Circuits,
		Proofs:  now.engine.Proofs,
		Jobs:    jobCounts(s.worker.Stats()),
	}
	for _, c := range s.probes().Ready {
		if err := c.Err(); err != nil {
			answer.Ready, answer.Reason = false, c.Name+": "+err.Error()
			break
		}
	}
	return answer
}

package service

import (
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Status is what a worker answers on pinion.status, as JSON.
type Status struct {
	Worker   string      `json:"worker"`
	Version  string      `json:"version"`
	Ready    bool        `json:"ready"`
	Reason   string      `json:"reason,omitempty"` // why it isn't ready
	Device   string      `json:"device"`
	Memory   memoryUse   `json:"memory"`
	Circuits []string    `json:"circuits"` // resident ones, name@digest
	Fetching []string    `json:"fetching"` // those on their way from the bucket
	Proofs   int64       `json:"proofs"`
	Jobs     jobCounts   `json:"jobs"`
	InHand   []jobInHand `json:"in_hand"`
}

// jobCounts are queue.Stats under their names in JSON.
type jobCounts struct {
	Done       int64 `json:"done"`
	Failed     int64 `json:"failed"`
	Cancelled  int64 `json:"cancelled"`
	Expired    int64 `json:"expired"`
	Deferred   int64 `json:"deferred"`
	Retried    int64 `json:"retried"`
	LeaseLost  int64 `json:"lease_lost"`
	InHand     int64 `json:"in_hand"`
	LastMinute int64 `json:"last_minute"` // results stored
}

// jobInHand is how far a job is.
type jobInHand struct {
	ID      string `json:"id"`
	Phase   string `json:"phase"`
	Percent int    `json:"percent"`
}

// memoryUse is in bytes.
type memoryUse struct {
	Total int64 `json:"total"`
	Used  int64 `json:"used"`
}

// statusVersion is the version of the status service as NATS micro has it: that of its answers.
const statusVersion = "1.0.0"

// Verbs are what one worker can be told, on pinion.worker.<name>.<verb>; it answers with its status.
func Verbs() []string { return []string{verbPause, verbResume, verbDrain} }

const (
	verbPause  = "pause"
	verbResume = "resume"
	verbDrain  = "drain"
)

const statusSubject = "pinion.status"

func verbSubject(worker, verb string) string { return "pinion.worker." + worker + "." + verb }

// announce makes the worker answer on pinion.status and do what it is told, and answer to the discovery of NATS micro services ($SRV.PING.pinion and its like).
// Every worker answers, so whoever asks collects answers for a while.
func announce(nc *nats.Conn, worker string, now func() Status, obey map[string]func()) (micro.Service, error) {
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
	endpoint := func(name, subject string, do func()) error {
		answer := micro.HandlerFunc(func(r micro.Request) {
			do()
			_ = r.RespondJSON(now()) // the one error is a connection that has gone
		})
		if err := s.AddEndpoint(name, answer, micro.WithEndpointSubject(subject)); err != nil {
			return fmt.Errorf("status service: %s: %w", name, err)
		}
		return nil
	}
	err = endpoint("status", statusSubject, func() {})
	for _, verb := range Verbs() {
		err = errors.Join(err, endpoint(verb, verbSubject(worker, verb), obey[verb]))
	}
	return s, err
}

func (s *Service) status() Status {
	now := s.prover.snapshot()
	answer := Status{
		Worker:   s.config.Worker,
		Version:  Version(),
		Ready:    true,
		Device:   s.prover.executor.Info().Name,
		Memory:   memoryUse{Total: now.budget.Total(), Used: now.budget.Used()},
		Circuits: []string{},
		Fetching: s.circuits.loading(),
		Proofs:   now.engine.Proofs,
		Jobs:     jobCounts(s.worker.Stats()),
		InHand:   []jobInHand{},
	}
	for _, ref := range s.prover.Engine.Resident() {
		answer.Circuits = append(answer.Circuits, ref.String())
	}
	for _, p := range s.worker.InHand() {
		answer.InHand = append(answer.InHand, jobInHand{p.ID, p.Phase, p.Percent})
	}
	for _, c := range s.probes().Ready {
		if err := c.Err(); err != nil {
			answer.Ready, answer.Reason = false, c.Name+": "+err.Error()
			break
		}
	}
	return answer
}

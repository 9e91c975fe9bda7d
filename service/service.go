// Package service is the worker process: its configuration from the environment, the broker connection or an embedded broker, the
// circuits it serves, telemetry, probes, and the order in which all that starts and stops.
//
// Start makes a Service ready, Service.Run works until its context ends. Config and its tags list what can be configured.
package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/queue"
)

const (
	// bindTime bounds each step of the start that waits for the broker.
	bindTime = 15 * time.Second
	// stopTime bounds the end, once no job is in hand: flushing telemetry, draining the connection.
	stopTime = 10 * time.Second
)

// Service is a worker that is bound to the queue. Make one with Start.
type Service struct {
	config    *Config
	log       *slog.Logger
	telemetry *Telemetry
	web       *webServer
	broker    *Broker // nil: an external one
	nc        *nats.Conn
	client    *queue.Client
	prover    *Prover
	circuits  *fetcher
	worker    *queue.Worker
	answers   micro.Service   // on pinion.status, and to what this worker is told
	drained   context.Context // ends when drain is called: this worker was told to
	drain     context.CancelFunc
	stage     atomic.Pointer[string] // why the service isn't ready, while it starts or stops
}

// Start brings everything up but takes no job yet: probes, telemetry, broker, device, circuits. On error nothing is left running.
func Start(ctx context.Context, config *Config, log *slog.Logger) (*Service, error) {
	s := &Service{config: config, log: log}
	s.drained, s.drain = context.WithCancel(context.Background())
	s.enter("starting")
	if err := s.start(ctx); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *Service) start(ctx context.Context) (err error) {
	spans := queue.NewSpanCollector()
	if s.telemetry, err = NewTelemetry(ctx, s.config.Worker, spans); err != nil {
		return err
	}
	if s.prover, err = s.config.NewProver(s.log, s.telemetry.Traces.Tracer("github.com/pinion-zk/pinion/engine")); err != nil {
		return err
	}
	counts, err := newMetrics(s.telemetry.Metrics, s.prover)
	if err != nil {
		return err
	}
	if s.config.HTTP != "off" {
		if s.web, err = startWeb(ctx, s.config.HTTP, s.probes().Handler(), s.log); err != nil {
			return err
		}
	}
	if err := s.connect(ctx); err != nil {
		return err
	}
	s.circuits = newFetcher(s.client, s.prover, s.config.Fetched, counts, s.log)
	if err := s.offerCircuits(ctx); err != nil {
		return err
	}
	if err := s.bind(ctx, spans, counts); err != nil {
		return err
	}
	s.answers, err = announce(s.nc, s.config.Worker, s.status, map[string]func(){
		verbPause: s.worker.Pause, verbResume: s.worker.Resume, verbDrain: s.drain,
	})
	return err
}

// connect reaches the broker. An embedded one is provisioned here; an external one by its operator, and only compared.
func (s *Service) connect(ctx context.Context) (err error) {
	config := *s.config
	if config.NATS == Embedded {
		if s.broker, err = StartBroker(config.BrokerDir(), config.Listen, s.log); err != nil {
			return err
		}
		config.NATS = s.broker.URL()
	}
	if s.nc, err = config.Connect("pinion "+config.Worker, s.log); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bindTime)
	defer cancel()
	js, err := jetstream.New(s.nc)
	if err != nil {
		return err
	}
	options := queue.Options{AckWait: config.AckWait}
	if s.broker != nil {
		_, err := queue.Provision(ctx, js, options)
		if err != nil {
			return fmt.Errorf("provision the embedded broker: %w", err)
		}
	}
	if s.client, err = NewClient(ctx, s.nc); err != nil {
		return err
	}
	s.reportDrift(ctx, js, options)
	return nil
}

// reportDrift says what differs from the contract. It decides nothing: a worker with the least permissions may not even look.
func (s *Service) reportDrift(ctx context.Context, js jetstream.JetStream, options queue.Options) {
	drift, err := queue.Compare(ctx, js, options)
	if err != nil {
		s.log.Warn("streams could not be compared with the contract", "error", err)
	}
	for _, d := range drift {
		s.log.Warn("the broker differs from the contract", "drift", d.String())
	}
}

// offerCircuits registers the circuits that were added to the catalogue, so that producers find them by name, and loads those to be
// preloaded.
func (s *Service) offerCircuits(ctx context.Context) error {
	infos, err := s.prover.Catalogue.List()
	if err != nil {
		s.log.Error("catalogue", "error", err)
	}
	received, err := s.prover.Catalogue.Received()
	if err != nil {
		s.log.Error("catalogue", "error", err)
	}
	s.log.Info("catalogue", "dir", s.config.Circuits, "circuits", len(infos), "fetched", len(received))
	for _, info := range infos {
		if err := RegisterCircuit(ctx, s.client, info, false); err != nil {
			s.log.Warn("circuit is served by digest only", "circuit", info.Name, "error", err)
		}
	}
	return s.preload(ctx, infos)
}

func (s *Service) preload(ctx context.Context, infos []circuit.Info) error {
	names := s.config.Preload
	if len(names) == 1 && names[0] == "all" {
		names = nil
		for _, info := range infos {
			names = append(names, info.Name)
		}
	}
	for _, name := range names {
		s.enter("loading circuit " + name)
		ref, err := s.obtain(ctx, name, infos)
		if err == nil {
			err = s.prover.Engine.Preload(ctx, ref)
		}
		if err != nil {
			return fmt.Errorf("%sPRELOAD: circuit %s: %w", Prefix, name, err)
		}
	}
	return nil
}

// obtain finds a circuit by its name: the one that was added, or that which the name means on the broker, fetched if need be.
func (s *Service) obtain(ctx context.Context, name string, added []circuit.Info) (circuit.Ref, error) {
	ref := circuit.Ref{Name: name}
	if slices.ContainsFunc(added, func(i circuit.Info) bool { return i.Name == name }) {
		return ref, nil
	}
	record, err := s.client.Circuit(ctx, name)
	if errors.Is(err, queue.ErrUnknownCircuit) {
		return ref, nil // loading it says so
	} else if err != nil {
		return ref, err
	}
	if ref, err = circuit.ParseRef(record.Ref()); err != nil {
		return ref, err
	}
	return ref, s.circuits.pull(ctx, ref, func(stage string, done, total int64) {
		s.enter(fmt.Sprintf("fetching circuit %s: %s, %d %%", name, stage, 100*done/max(total, 1)))
	})
}

func (s *Service) bind(ctx context.Context, spans *queue.SpanCollector, counts *metrics) (err error) {
	s.worker, err = queue.NewWorker(ctx, s.nc, queue.WorkerConfig{
		Name:          s.config.Worker,
		Handler:       s.handler(counts),
		Jobs:          s.prover.jobs,
		Intake:        s.prover.hand.take,
		Healthy:       s.prover.healthy,
		Started:       s.ready,
		Grace:         s.config.Grace,
		ReplyPrefixes: s.config.Replies,
		Tracer:        s.telemetry.Traces.Tracer("github.com/pinion-zk/pinion/queue"),
		Spans:         spans,
		Log:           s.log,
	})
	return advise(s.nc, err)
}

func (s *Service) handler(counts *metrics) *handler {
	return &handler{
		engine: s.prover.Engine, metrics: counts, log: s.log, fetch: s.circuits.fetch, elsewhere: s.elsewhere, weigh: s.prover.weigh,
	}
}

// elsewhere tells whether the circuit is registered with that digest: a worker that has it may come by.
func (s *Service) elsewhere(ctx context.Context, ref circuit.Ref) bool {
	record, err := s.client.Circuit(ctx, ref.Name)
	return err == nil && record.Digest == ref.Digest.String()
}

// URL is where the broker is reached: that of the embedded one, if there is one.
func (s *Service) URL() string {
	if s.broker != nil {
		return s.broker.URL()
	}
	return s.nc.ConnectedUrl()
}

// HTTP is the address that the probes answer on, empty if they are off.
func (s *Service) HTTP() string {
	if s.web == nil {
		return ""
	}
	return s.web.addr
}

// Run takes jobs until ctx ends or the worker is told to drain, lets those in hand finish for as long as the grace time allows, and then stops everything that
// Start brought up. It is called once.
func (s *Service) Run(ctx context.Context) error {
	s.stage.Store(nil)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.drained, cancel)()
	stopping := context.AfterFunc(ctx, func() {
		s.enter("draining")
		s.log.Info("draining", "grace", s.config.Grace)
	})
	defer stopping()
	err := s.worker.Run(ctx)
	s.enter("stopping")
	return errors.Join(err, s.stop())
}

// ready tells the log, which probes then agree with.
func (s *Service) ready() {
	s.log.Info("worker ready", "worker", s.config.Worker, "broker", redactURLs(s.URL()), "http", s.HTTP(), "jobs", s.prover.jobs)
}

// stop takes down what is up, in the one right order: no job is in hand any more, so first what jobs worked on, then the spans that
// tell of them, then the connection that carries spans and acknowledgements, then the broker. The probes answer until the end.
func (s *Service) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTime)
	defer cancel()
	s.drain() // or nobody ends its context
	var faults []error
	if s.circuits != nil {
		s.circuits.close()
	}
	if s.prover != nil {
		faults = append(faults, s.prover.Close(ctx))
	}
	if s.telemetry != nil {
		if err := s.telemetry.Shutdown(ctx); err != nil {
			s.log.Warn("telemetry not sent", "error", err)
		}
	}
	if s.answers != nil {
		if err := s.answers.Stop(); err != nil {
			s.log.Warn("status service not taken down", "error", err) // the broker is gone, and notices by itself
		}
	}
	if s.nc != nil {
		faults = append(faults, drain(ctx, s.nc))
	}
	if s.broker != nil {
		s.broker.Close()
	}
	if s.web != nil {
		s.web.close(ctx)
	}
	return errors.Join(faults...)
}

// drain sends what is buffered and closes the connection.
func drain(ctx context.Context, nc *nats.Conn) error {
	defer nc.Close()
	if nc.IsReconnecting() || nc.IsClosed() {
		return nil // nobody to send to
	}
	if err := nc.FlushWithContext(ctx); err != nil {
		return fmt.Errorf("drain the broker connection: %w", err)
	}
	return nil
}

// enter sets the reason for which the service isn't ready.
func (s *Service) enter(stage string) { s.stage.Store(&stage) }

func (s *Service) probes() *Probes {
	return &Probes{
		Metrics: s.telemetry.Handler(),
		Live:    []Check{{"device", s.prover.healthy}},
		Ready: []Check{
			{"service", func() error {
				if stage := s.stage.Load(); stage != nil {
					return errors.New(*stage)
				}
				return s.worker.Ready()
			}},
			{"device", s.prover.healthy},
		},
	}
}

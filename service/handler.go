package service

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/pool"
	"github.com/pinion-zk/pinion/queue"
)

// proves is what the handler needs of an engine.
type proves interface {
	Prove(ctx context.Context, req engine.Request) (*engine.Outcome, error)
}

// handler turns a job of the queue into a request to the engine, and the outcome back.
type handler struct {
	engine  proves
	metrics *metrics
	log     *slog.Logger

	// fetch gets a circuit that this worker lacks from the bucket: nil once it is there, a *queue.Defer while it is on its way, another
	// error if the bucket doesn't have it.
	fetch func(ctx context.Context, ref circuit.Ref) error
	// elsewhere tells whether other workers may have the circuit, which this one doesn't.
	elsewhere func(ctx context.Context, ref circuit.Ref) bool
	// weigh tells what a job is of the worker's work, and returns what tells that it is proven; not ok: there is too much of it.
	weigh func(ref circuit.Ref, witnesses int) (done func(), ok bool)
}

// handOn is how long a job that this worker can't take stays away before it is offered again.
const handOn = 2 * time.Second

// Prove implements queue.Handler.
func (h *handler) Prove(ctx context.Context, d *queue.Delivery) (*queue.Outcome, error) {
	ref, err := circuit.ParseRef(d.Job.Circuit)
	if err != nil {
		return nil, &queue.Failure{Code: queue.CodeInvalidJob, Msg: err.Error(), Err: err}
	}
	done, ok := h.weigh(ref, len(d.Job.Witnesses))
	if !ok {
		return nil, &queue.Defer{After: handOn, Reason: "the worker has as many jobs in hand as its device proves at a time"}
	}
	defer done()
	out, err := h.prove(ctx, ref, d)
	if err != nil {
		err = h.failure(ctx, ref, err)
		h.metrics.end(ctx, endState(err))
		h.log.Debug("job not proven", "job", d.Job.ID, "circuit", ref.Name, "attempt", d.Attempt, "error", err)
		return nil, err
	}
	h.metrics.done(ctx, out)
	h.log.Debug("job proven", "job", d.Job.ID, "circuit", ref.Name, "attempt", d.Attempt, "took", out.Phases.Total)
	return outcome(out), nil
}

// prove asks the engine, once more if that lacked the circuit and has it now.
func (h *handler) prove(ctx context.Context, ref circuit.Ref, d *queue.Delivery) (*engine.Outcome, error) {
	out, err := h.engine.Prove(ctx, request(ref, d))
	if !lacksCircuit(err) {
		return out, err
	}
	missing := h.fetch(ctx, ref)
	if _, later := errors.AsType[*queue.Defer](missing); later {
		return nil, missing
	} else if missing != nil {
		return nil, err
	}
	return h.engine.Prove(ctx, request(ref, d))
}

func lacksCircuit(err error) bool {
	failed, ok := errors.AsType[*engine.Error](err)
	return ok && (failed.Code == engine.CodeUnknownCircuit || failed.Code == engine.CodeWrongDigest)
}

func request(ref circuit.Ref, d *queue.Delivery) engine.Request {
	req := engine.Request{Circuit: ref, Witnesses: make([]engine.Witness, len(d.Job.Witnesses))}
	for i := range d.Job.Witnesses {
		req.Witnesses[i] = witness(d, i)
	}
	req.Observe = func(e engine.Event) { d.Progress(string(e.Phase), 100*e.Proof/len(req.Witnesses)) }
	return req
}

func outcome(out *engine.Outcome) *queue.Outcome {
	proofs := make([]queue.Proof, len(out.Proofs))
	for i, p := range out.Proofs {
		proofs[i] = queue.Proof{Proof: p.Proof.Bytes(), Public: p.Public}
	}
	return &queue.Outcome{
		Proofs: proofs,
		Device: out.Device,
		Timings: queue.Timings{
			Witness:   out.Phases.Witness,
			Synthesis: out.Phases.Synthesis,
			Wait:      out.Phases.Admit + out.Phases.Wait,
			Device:    out.Phases.Device,
			Check:     out.Phases.Check,
		},
	}
}

// failure says in the queue's terms why there are no proofs.
func (h *handler) failure(ctx context.Context, ref circuit.Ref, err error) error {
	if ofQueue, ok := errors.AsType[*queue.Failure](err); ok {
		return ofQueue // the witness's object is missing, or another
	}
	ofEngine, ok := errors.AsType[*engine.Error](err)
	if !ok {
		return err
	}
	failed := &queue.Failure{Code: queue.Code(ofEngine.Code), Msg: ofEngine.Err.Error(), Retry: ofEngine.Retry, Err: err}
	switch ofEngine.Code {
	case engine.CodeTooLarge:
		if exceeds, ok := errors.AsType[*pool.ExceedsError](err); ok {
			return tooLarge(exceeds.Want, exceeds.Total)
		}
	case engine.CodeMemory:
		return &queue.Defer{After: handOn, Reason: ofEngine.Err.Error()}
	case engine.CodeUnknownCircuit, engine.CodeWrongDigest:
		if h.elsewhere(ctx, ref) {
			return &queue.Defer{After: handOn, Reason: ofEngine.Err.Error()}
		}
		failed.Retry = false // not here, not elsewhere: another attempt would end alike
	default: // as the engine says
	}
	return failed
}

// endState is the label under which an error is counted: one of few.
func endState(err error) string {
	if _, ok := errors.AsType[*queue.Defer](err); ok {
		return "deferred"
	}
	if failed, ok := errors.AsType[*queue.Failure](err); ok {
		return string(failed.Code)
	}
	return string(queue.CodeInternal)
}

// witness says where one proof's values come from.
func witness(d *queue.Delivery, i int) engine.Witness {
	w := d.Job.Witnesses[i]
	if w.Inputs != nil {
		return engine.Witness{Inputs: w.Inputs}
	}
	return engine.Witness{Size: w.Size(), Open: func(ctx context.Context) (io.ReadCloser, error) { return d.Open(ctx, i) }}
}

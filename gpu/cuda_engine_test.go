package gpu_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// prover is an engine on a card: all of it but the queue.
type prover struct {
	*engine.Engine
	t         *testing.T
	card      *gpu.Card
	catalogue *circuit.Catalogue
}

func newProver(t *testing.T) *prover {
	t.Helper()
	card, err := gpu.OpenCUDA(gpu.CardLibrary(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	executor, err := gpu.NewExecutor(card, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := &prover{t: t, card: card, catalogue: fillCatalogue(t)}
	budget := pool.NewBudget(1 << 30)
	budget.OnFault(func(err error) { t.Errorf("memory: %v", err) })
	buffers := pool.NewPool(budget, card.Pinned(pool.HugePages{}))
	p.Engine = engine.New(engine.Config{
		Catalogue: p.catalogue, Executor: executor, Budget: budget, Pool: buffers, CalculatorMemory: 64 << 20,
	})
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		err := errors.Join(p.Close(ctx), executor.Close(ctx), buffers.Close())
		if err != nil && p.Healthy() == nil {
			t.Error(err)
		}
		if used := budget.Used(); used != 0 {
			t.Errorf("%d bytes are accounted after close", used)
		}
	})
	return p
}

// fillCatalogue has the multiplier and the tree, on both curves.
func fillCatalogue(t *testing.T) *circuit.Catalogue {
	t.Helper()
	catalogue, err := circuit.OpenCatalogue(filepath.Join(t.TempDir(), "catalogue"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"multiplier", "commit"} {
		for _, curve := range circuits.Curves {
			dir := t.TempDir()
			if err := circuits.Extract(dir, name, curve); err != nil {
				t.Fatal(err)
			}
			files := circuit.Files{Zkey: filepath.Join(dir, circuits.Zkey), R1CS: filepath.Join(dir, circuits.R1CS)}
			if _, err := catalogue.Add(t.Context(), name+"-"+curve, files, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return catalogue
}

// request is for n proofs of the example's witness.
func request(t *testing.T, name, curve string, n int) engine.Request {
	t.Helper()
	wtns, err := circuits.File(name, curve, circuits.Witness)
	if err != nil {
		t.Fatal(err)
	}
	req := engine.Request{Circuit: circuit.Ref{Name: name + "-" + curve}}
	for range n {
		req.Witnesses = append(req.Witnesses, engine.Witness{Size: int64(len(wtns)), Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(wtns)), nil
		}})
	}
	return req
}

// proves expects proofs that verify, made by the card.
func (p *prover) proves(req engine.Request) *engine.Outcome {
	p.t.Helper()
	out, err := p.Prove(p.t.Context(), req)
	if err != nil {
		p.t.Fatalf("%s: %v", req.Circuit.Name, err)
	}
	c, err := p.catalogue.Open(out.Circuit)
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close()
	if len(out.Proofs) != len(req.Witnesses) {
		p.t.Errorf("%d proofs, want %d", len(out.Proofs), len(req.Witnesses))
	}
	for i, result := range out.Proofs {
		if err := c.VerifyingKey().Verify(result.Proof, result.Public); err != nil {
			p.t.Errorf("proof %d: %v", i, err)
		}
	}
	if out.Device != p.card.Info().Name || out.Synthesis != gpu.OnDevice {
		p.t.Errorf("proven by %s, synthesis on the %s", out.Device, out.Synthesis)
	}
	return out
}

func (p *prover) fails(req engine.Request, code engine.Code) error {
	p.t.Helper()
	_, err := p.Prove(p.t.Context(), req)
	var failed *engine.Error
	if !errors.As(err, &failed) || failed.Code != code || !failed.Retry {
		p.t.Errorf("error %v, want %s that may be tried again", err, code)
	}
	return err
}

func TestCUDAEngine(t *testing.T) {
	p := newProver(t)
	for _, curve := range circuits.Curves {
		p.proves(request(t, "multiplier", curve, 3))
	}
	p.proves(request(t, "commit", "bn128", 1))
	if got := p.Stats(); got.Proofs != 7 || got.Wrong != 0 || got.DeviceFaults != 0 {
		t.Errorf("counted %+v", got)
	}
}

// P4: whichever result of the device a bit is flipped in, the proof is caught, made again once, counted, and never leaves.
func TestP4FlippedBitIsMadeAgain(t *testing.T) {
	p := newProver(t)
	req := request(t, "multiplier", "bn128", 1)
	p.proves(req) // loads the circuit
	for _, what := range []gpu.Failure{gpu.FlipNTT, gpu.FlipMSM} {
		for n := uint64(1); ; n++ {
			before := p.Stats()
			gpu.Arm(t, p.card, what, n)
			out := p.proves(req)
			happened := gpu.Counted(t, p.card, what) >= n
			gpu.Arm(t, p.card, what, 0)
			if out.Attempts == 1 {
				if n == 1 || happened {
					t.Errorf("%v %d: one attempt", what, n)
				}
				break
			}
			got := p.Stats()
			if out.Attempts != 2 || got.Wrong != before.Wrong+1 || got.Again != before.Again+1 || got.DeviceFaults != before.DeviceFaults+1 {
				t.Errorf("%v %d: %d attempts, %+v after %+v", what, n, out.Attempts, got, before)
			}
		}
	}
	if p.Healthy() != nil {
		t.Error(p.Healthy())
	}
}

// P5: a sticky error sends the job back, and all that come; nothing takes the device's place.
func TestP5StickyErrorSendsJobsBack(t *testing.T) {
	p := newProver(t)
	req := request(t, "multiplier", "bn128", 1)
	p.proves(req)
	gpu.Arm(t, p.card, gpu.FailSticky, 3)
	if err := p.fails(req, engine.CodeDeviceFault); !errors.Is(err, gpu.ErrFault) {
		t.Error(err)
	}
	if !errors.Is(p.Healthy(), gpu.ErrFault) {
		t.Errorf("health %v", p.Healthy())
	}
	p.fails(req, engine.CodeDeviceFault)
}

// P3, P7: a job that finds no memory, or whose kernel is refused, may be tried again, and the next is proven by the same device.
func TestP3P7FailedJobThenGoodOne(t *testing.T) {
	p := newProver(t)
	for _, what := range []gpu.Failure{gpu.FailAllocation, gpu.FailLaunch} {
		for _, curve := range circuits.Curves {
			req := request(t, "multiplier", curve, 1)
			gpu.Arm(t, p.card, what, 1)
			_, err := p.Prove(t.Context(), req)
			happened := gpu.Counted(t, p.card, what) > 0
			gpu.Arm(t, p.card, what, 0)
			var failed *engine.Error
			if happened && (!errors.As(err, &failed) || !failed.Retry) {
				t.Errorf("%v on %s: %v", what, curve, err)
			}
			p.proves(req)
		}
	}
	if p.Healthy() != nil {
		t.Error(p.Healthy())
	}
}

package engine_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/engine"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/gpu"
	"github.com/pinion-zk/pinion/pool"
)

// A circuit goes into a catalogue once; then an engine proves it, here from inputs and on the host's cores.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "pinion")
	check(err)
	defer os.RemoveAll(dir)

	check(circuits.Extract(dir, "multiplier", "bn128"))
	catalogue, err := circuit.OpenCatalogue(filepath.Join(dir, "catalogue"))
	check(err)
	_, err = catalogue.Add(ctx, "multiplier", circuit.Files{
		Zkey: filepath.Join(dir, circuits.Zkey),
		Wasm: filepath.Join(dir, circuits.Wasm),
	}, nil)
	check(err)

	budget := pool.NewBudget(1 << 30)
	buffers := pool.NewPool(budget, pool.HugePages{})
	executor, err := gpu.NewExecutor(gpu.NewCPU(), 2)
	check(err)
	prover := engine.New(engine.Config{
		Catalogue: catalogue, Executor: executor, Budget: budget, Pool: buffers,
		CalculatorMemory: 64 << 20,
	})

	outcome, err := prover.Prove(ctx, engine.Request{
		Circuit:   circuit.Ref{Name: "multiplier"},
		Witnesses: []engine.Witness{{Inputs: []byte(`{"a": 641, "b": 6700417}`)}},
	})
	check(err)
	public, err := outcome.Proofs[0].Public.MarshalJSON()
	check(err)
	fmt.Println(outcome.Circuit.Name, outcome.Curve, "proof of", len(outcome.Proofs[0].Proof.Bytes()), "bytes for", string(public))

	check(prover.Close(ctx))
	check(buffers.Close())
	check(executor.Close(ctx))
	fmt.Println(budget.Used(), "bytes in use")
	// Output:
	// multiplier bn128 proof of 128 bytes for ["4294967297"]
	// 0 bytes in use
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

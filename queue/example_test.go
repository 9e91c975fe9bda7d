package queue_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
)

// Submit a witness and wait for its proof.
func ExampleClient_Submit() {
	ctx := context.Background()
	nc, err := nats.Connect(nats.DefaultURL, queue.ConnectOptions("producer", slog.Default())...)
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	client, err := queue.NewClient(ctx, nc, queue.ClientConfig{})
	if err != nil {
		log.Fatal(err)
	}
	witness, err := os.ReadFile("witness.wtns")
	if err != nil {
		log.Fatal(err)
	}
	job, err := client.Submit(ctx, queue.Request{
		ID:        "order-17", // submitted twice, it is still one job
		Circuit:   "merkle",
		Witnesses: []queue.Source{queue.Wtns(witness)},
	})
	if err != nil {
		log.Fatal(err)
	}
	result, err := client.Wait(ctx, job.ID)
	if err != nil {
		log.Fatal(err)
	}
	if result.State != queue.Done {
		log.Fatal(result.Err)
	}
	fmt.Printf("%x\n", result.Proofs[0].Proof)
}

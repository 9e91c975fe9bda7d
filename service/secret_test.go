package service

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math/big"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/queue"
)

// No witness value is in what a worker logs or publishes, whether the witness is good or bad, at whatever place.
func TestWitnessesStaySecret(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	logged := &testLog{}
	client, said := secretService(ctx, t, slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug})))

	secret, _ := new(big.Int).SetString("918273645546372819918273645546372819", 10)
	wtns := func(values ...*big.Int) []byte { // one, c, a, b
		file := exampleWitness(t)
		for i, v := range values {
			slices.Reverse(v.FillBytes(file[76+32*i : 108+32*i]))
		}
		return file
	}
	one, five, product := big.NewInt(1), big.NewInt(5), new(big.Int).Mul(secret, big.NewInt(5))
	large := new(big.Int).Add(new(big.Int).Lsh(one, 255), secret)
	jobs := map[string]struct {
		source queue.Source
		state  queue.State
	}{
		"inputs":            {queue.Inputs(fmt.Appendf(nil, `{"a": "%d", "b": 5}`, secret)), queue.Done},
		"witness":           {queue.Wtns(wtns(one, product, secret, five)), queue.Done},
		"unknown signal":    {queue.Inputs(fmt.Appendf(nil, `{"a": "%d", "b": 5, "d": "%[1]d"}`, secret)), queue.Failed},
		"no number":         {queue.Inputs(fmt.Appendf(nil, `{"a": "%dx", "b": 5}`, secret)), queue.Failed},
		"large number":      {queue.Inputs(fmt.Appendf(nil, `{"a": "%d%[1]d%[1]d", "b": 5}`, secret)), queue.Failed},
		"missing signal":    {queue.Inputs(fmt.Appendf(nil, `{"a": "%d"}`, secret)), queue.Failed},
		"broken JSON":       {queue.Inputs(fmt.Appendf(nil, `{"a": %d, "b": `, secret)), queue.Failed},
		"unsatisfied":       {queue.Wtns(wtns(one, secret, secret, five)), queue.Failed},
		"not one":           {queue.Wtns(wtns(secret, product, secret, five)), queue.Failed},
		"above the modulus": {queue.Wtns(wtns(one, product, large, five)), queue.Failed},
		"cut off":           {queue.Wtns(wtns(one, product, secret, five)[:200-1]), queue.Failed},
	}
	for name, job := range jobs {
		id := strings.ReplaceAll(name, " ", "-")
		if _, err := client.Submit(ctx, queue.Request{ID: id, Circuit: "multiplier", Witnesses: []queue.Source{job.source}, Reply: "pinion.reply.x"}); err != nil {
			t.Fatal(err)
		}
		r, err := client.Wait(ctx, id)
		if err != nil || r.State != job.state {
			t.Errorf("%s: %v, %+v", name, err, r)
		}
	}

	bigEndian := secret.Bytes()
	littleEndian := slices.Clone(bigEndian)
	slices.Reverse(littleEndian)
	forms := map[string][]byte{
		"decimal": []byte(secret.String()), "hexadecimal": []byte(secret.Text(16)), "big-endian": bigEndian, "little-endian": littleEndian,
	}
	check := func(where string, data []byte) {
		for form, value := range forms {
			if bytes.Contains(data, value) {
				t.Errorf("%s holds the secret in its %s form: %.300q", where, form, data)
			}
		}
	}
	spans := 0
	for ended := 0; ended < len(jobs) || spans < len(jobs); {
		select {
		case msg := <-said:
			for key, values := range msg.Header {
				check(msg.Subject+" "+key, []byte(strings.Join(values, " ")))
			}
			if !strings.HasPrefix(msg.Subject, "pinion.dead.") { // which is the job
				check(msg.Subject, msg.Data)
			}
			if strings.HasPrefix(msg.Subject, "pinion.result.") {
				ended++
			}
			if msg.Header.Get(queue.HeaderKind) == string(queue.KindSpans) {
				spans++
			}
		case <-ctx.Done():
			t.Fatalf("%d results, %d messages of spans", ended, spans)
		}
	}
	check("the log", []byte(logged.String()))
}

// secretService is a worker with the circuit multiplier, and all that it publishes.
func secretService(ctx context.Context, t *testing.T, log *slog.Logger) (*queue.Client, <-chan *nats.Msg) {
	t.Helper()
	dir := t.TempDir()
	config, err := LoadConfig([]string{"PINION_NATS=embedded", "PINION_LISTEN=127.0.0.1:0", "PINION_HTTP=off", "PINION_DATA=" + dir, "PINION_MEMORY=2GiB", "PINION_DEVICE=cpu"})
	if err != nil {
		t.Fatal(err)
	}
	catalogue, err := config.OpenCatalogue()
	if err == nil {
		err = circuits.Extract(dir, "multiplier", "bn128")
	}
	if err == nil {
		in := func(name string) string { return filepath.Join(dir, name) }
		_, err = catalogue.Add(ctx, "multiplier", circuit.Files{Zkey: in(circuits.Zkey), Wasm: in(circuits.Wasm), R1CS: in(circuits.R1CS)}, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := Start(ctx, config, log)
	if err != nil {
		t.Fatal(err)
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	nc, err := nats.Connect(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	said := make(chan *nats.Msg, 10_000)
	for _, subject := range []string{"pinion.result.*", "pinion.done.*", "pinion.progress.*", "pinion.reply.>", "pinion.dead.*", "$KV.>"} {
		if _, err := nc.ChanSubscribe(subject, said); err != nil {
			t.Fatal(err)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	return connectClient(t, config, s.URL()), said
}

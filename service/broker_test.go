package service

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func openStream(t *testing.T, b *Broker) (jetstream.JetStream, *nats.Conn) {
	t.Helper()
	nc, err := nats.Connect(b.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js, nc
}

// What was stored is there after the broker was closed and opened again at once.
func TestBrokerOpensAgain(t *testing.T) {
	dir, quiet := t.TempDir(), slog.New(slog.DiscardHandler)
	for round := range 3 {
		b, err := StartBroker(dir, "127.0.0.1:0", quiet)
		if err != nil {
			t.Fatal(err)
		}
		js, nc := openStream(t, b)
		s, err := js.CreateOrUpdateStream(context.Background(), jetstream.StreamConfig{Name: "S", Subjects: []string{"s"}})
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n != uint64(round) {
			t.Errorf("round %d: %d messages", round, n)
		}
		if _, err := js.Publish(context.Background(), "s", nil); err != nil {
			t.Fatal(err)
		}
		nc.Close()
		b.Close()
	}
}

func TestBrokerDirectoryInUse(t *testing.T) {
	dir, quiet := t.TempDir(), slog.New(slog.DiscardHandler)
	b, err := StartBroker(dir, "127.0.0.1:0", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = StartBroker(dir, "127.0.0.1:0", quiet)
	if want := "embedded broker: " + dir + " is in use by another process"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestBrokerPortTaken(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	b, err := StartBroker(t.TempDir(), "127.0.0.1:0", quiet)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	_, err = StartBroker(t.TempDir(), strings.TrimPrefix(b.URL(), "nats://"), quiet)
	if err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("got %v", err)
	}
}

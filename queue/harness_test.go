package queue

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ackWait of the tests: the shortest that leases allow.
const ackWait = time.Second

// broker is a NATS server in this process, with its store in a folder of the
// test. It can be stopped and started again on the same port.
type broker struct {
	t    *testing.T
	opts *server.Options
	srv  *server.Server
}

// startBroker starts and provisions a broker.
func startBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{t: t, opts: &server.Options{
		Host: "127.0.0.1", Port: freePort(t), JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true,
	}}
	b.start()
	t.Cleanup(func() { b.stop() })
	drift, err := Provision(ctx(t), b.js(), Options{AckWait: ackWait, MaxBytes: 256 << 20})
	if err != nil || len(drift) != 0 {
		t.Fatalf("Provision: drift %v, error %v", drift, err)
	}
	return b
}

func freePort(t *testing.T) int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (b *broker) start() {
	b.t.Helper()
	opts := *b.opts
	srv, err := server.NewServer(&opts)
	if err != nil {
		b.t.Fatal(err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		b.t.Fatal("broker isn't ready")
	}
	b.srv = srv
}

func (b *broker) stop() {
	b.srv.Shutdown()
	b.srv.WaitForShutdown()
}

// connect opens a connection that lives as long as the test.
func (b *broker) connect(opts ...nats.Option) *nats.Conn {
	b.t.Helper()
	opts = append(ConnectOptions(b.t.Name(), quiet), opts...)
	opts = append(opts, nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0), nats.ReconnectBufSize(-1))
	nc, err := nats.Connect(b.srv.ClientURL(), opts...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(nc.Close)
	return nc
}

func (b *broker) js() jetstream.JetStream {
	b.t.Helper()
	js, err := jetstream.New(b.connect())
	if err != nil {
		b.t.Fatal(err)
	}
	return js
}

func (b *broker) client() *Client {
	b.t.Helper()
	c, err := NewClient(ctx(b.t), b.connect(), ClientConfig{})
	if err != nil {
		b.t.Fatal(err)
	}
	return c
}

var quiet = slog.New(slog.DiscardHandler)

// ctx ends with the test, or when it takes far too long.
func ctx(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

package service

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
)

// BrokerError is a connection that couldn't be made.
type BrokerError struct {
	URLs string // without passwords
	Err  error
}

func (e *BrokerError) Error() string {
	text := fmt.Sprintf("broker %s: %v", e.URLs, e.Err)
	if advice := e.advice(); advice != "" {
		return text + "; " + advice
	}
	return text
}

func (e *BrokerError) Unwrap() error { return e.Err }

// advice is what can be done about it, if that is known.
func (e *BrokerError) advice() string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](e.Err)
	switch {
	case errors.Is(e.Err, nats.ErrNoServers):
		return "start one there, or set " + Prefix + "NATS"
	case errors.Is(e.Err, os.ErrDeadlineExceeded):
		return "something listens there and says nothing: if it is a broker that waits for TLS, set handshake_first to auto there"
	case unknown:
		return "the authorities that its certificate is checked against are those of " + Prefix + "NATS_TLS_CA, or the system's if that is not set"
	case refusedTLS(e.Err):
		return "if it wants a client certificate, set " + Prefix + "NATS_TLS_CERT and " + Prefix + "NATS_TLS_KEY to one that it trusts"
	case errors.Is(e.Err, nats.ErrAuthorization):
		return "set one of " + Prefix + "NATS_CREDS, " + Prefix + "NATS_NKEY, " + Prefix + "NATS_USER and " + Prefix + "NATS_TOKEN_FILE, or user and password in " + Prefix + "NATS"
	}
	return ""
}

// refusedTLS tells whether the broker ended the TLS connection: with an alert, or, if we were writing just then, by closing it.
func refusedTLS(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	alert := ok && op.Op == "remote error"
	closed := errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
	return alert || closed && errors.Is(err, nats.ErrTLS)
}

// Connect connects to the broker at c.NATS; name is what the broker's operator sees. Once made, the connection is restored whenever
// it breaks. The error is a [VariableError] for a file that is of no use, and else a [BrokerError].
func (c *Config) Connect(name string, log *slog.Logger) (*nats.Conn, error) {
	credentials, err := c.credentials()
	if err != nil {
		return nil, err
	}
	urls := strings.ReplaceAll(c.NATS, " ", "")
	nc, err := nats.Connect(urls, append(queue.ConnectOptions(name, log), credentials...)...)
	if err != nil {
		return nil, &BrokerError{URLs: redactURLs(urls), Err: err}
	}
	return nc, nil
}

// NewClient binds a producer to what is provisioned on the broker.
func NewClient(ctx context.Context, nc *nats.Conn) (*queue.Client, error) {
	client, err := queue.NewClient(ctx, nc, queue.ClientConfig{})
	return client, advise(nc, err)
}

// advise adds what to do about a broker on which something is missing, or which doesn't let us hear its answers.
func advise(nc *nats.Conn, err error) error {
	refused, ok := errors.AsType[*queue.RefusedError](err)
	switch {
	case errors.Is(err, queue.ErrNotProvisioned):
		return fmt.Errorf("%w; run: pinion provision", err)
	case ok && refused.IsInbox(nc):
		return fmt.Errorf("%w; set %sNATS_INBOX to a prefix that it may subscribe to", err, Prefix)
	}
	return err
}

package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
)

// Connect connects to the broker at c.NATS; name is what the broker's operator sees. Once made, the connection is restored whenever
// it breaks.
func (c *Config) Connect(name string, log *slog.Logger) (*nats.Conn, error) {
	options := queue.ConnectOptions(name, log)
	if c.NATSCreds != "" {
		options = append(options, nats.UserCredentials(c.NATSCreds))
	}
	if c.NATSCA != "" {
		options = append(options, nats.RootCAs(c.NATSCA))
	}
	if c.NATSCert != "" {
		options = append(options, nats.ClientCert(c.NATSCert, c.NATSKey))
	}
	urls := strings.ReplaceAll(c.NATS, " ", "")
	nc, err := nats.Connect(urls, options...)
	if errors.Is(err, nats.ErrNoServers) {
		return nil, fmt.Errorf("broker %s: %w; start one there, or set %sNATS", redactURLs(urls), err, Prefix)
	} else if err != nil {
		return nil, fmt.Errorf("broker %s: %w", redactURLs(urls), err)
	}
	return nc, nil
}

// NewClient binds a producer to what is provisioned on the broker.
func NewClient(ctx context.Context, nc *nats.Conn) (*queue.Client, error) {
	client, err := queue.NewClient(ctx, nc, queue.ClientConfig{})
	return client, advise(err)
}

// advise adds what to do about a broker on which something is missing.
func advise(err error) error {
	if errors.Is(err, queue.ErrNotProvisioned) {
		return fmt.Errorf("%w; run: pinion provision", err)
	}
	return err
}

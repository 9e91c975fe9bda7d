package service

import (
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
	if err != nil {
		return nil, fmt.Errorf("broker %s: %w", redactURLs(urls), err)
	}
	return nc, nil
}

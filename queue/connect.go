package queue

import (
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// ConnectOptions are the connection options that this package wants, to come
// before the caller's own: reconnect for ever and soon, and log what happens
// to the connection, because a permission violation shows nowhere else.
func ConnectOptions(name string, log *slog.Logger) []nats.Option {
	return []nats.Option{
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.PermissionErrOnSubscribe(true),
		nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond),
		nats.ErrorHandler(func(nc *nats.Conn, sub *nats.Subscription, err error) {
			refused, ok := asRefused(err)
			switch {
			case ok && guards.refuse(nc, refused): // whose call it was tells of it
			case ok:
				log.Error("nats", "error", refused)
			case sub != nil:
				log.Error("nats", "error", err, "subject", sub.Subject)
			default:
				log.Error("nats", "error", err)
			}
		}),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("nats disconnected", "error", err)
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) { log.Info("nats reconnected", "url", nc.ConnectedUrlRedacted()) }),
	}
}

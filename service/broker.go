package service

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"golang.org/x/sys/unix"
)

// Broker is a nats-server with JetStream in this process, for a single node, the demo and tests. It listens on the loopback
// interface only, because it has no authentication.
type Broker struct {
	server *server.Server
	lock   *os.File
}

// brokerStart bounds how long a broker may take to recover its streams and listen.
const brokerStart = 30 * time.Second

// StartBroker runs a broker that keeps its streams under dir and listens on addr, a loopback address; port 0 takes a free one.
// One process at a time can have dir: the streams of two would destroy each other.
func StartBroker(dir, addr string, log *slog.Logger) (*Broker, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	port, err := strconv.Atoi(service)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: address %q: port %q is no number", addr, service)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, fmt.Errorf("embedded broker: %w", err)
	}
	b := &Broker{lock: lock}
	if err := b.start(&server.Options{
		ServerName: "pinion",
		Host:       host,
		Port:       port,
		JetStream:  true,
		StoreDir:   dir,
		NoSigs:     true,
	}, log); err != nil {
		b.Close()
		return nil, fmt.Errorf("%sLISTEN: embedded broker on %s: %w", Prefix, addr, err)
	}
	return b, nil
}

func (b *Broker) start(options *server.Options, log *slog.Logger) (err error) {
	if b.server, err = server.NewServer(options); err != nil {
		return err
	}
	trouble := &brokerLog{log: log.With("component", "broker"), fatal: make(chan string, 1)}
	b.server.SetLoggerV2(trouble, false, false, false)
	b.server.Start()
	for begin := time.Now(); time.Since(begin) < brokerStart; {
		if b.server.ReadyForConnections(100 * time.Millisecond) {
			return nil
		}
		select {
		case msg := <-trouble.fatal:
			return errors.New(msg)
		default:
		}
	}
	return fmt.Errorf("not ready after %s", brokerStart)
}

// URL is the address that clients connect to.
func (b *Broker) URL() string { return b.server.ClientURL() }

// Close stops the broker and waits until its streams are closed, so that dir can be opened again at once.
func (b *Broker) Close() {
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
	b.lock.Close()
}

// lockDir creates dir and takes its lock, which ends with the process at the latest.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		lock.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s is in use by another process", dir)
		}
		return nil, fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	return lock, nil
}

// brokerLog hands the broker's log to slog; its start-up chatter is only of interest when debugging.
type brokerLog struct {
	log   *slog.Logger
	fatal chan string // the first message of a broker that gave up
}

func (l *brokerLog) Noticef(format string, v ...any) { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *brokerLog) Debugf(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *brokerLog) Tracef(format string, v ...any)  { l.log.Debug(fmt.Sprintf(format, v...)) }
func (l *brokerLog) Warnf(format string, v ...any)   { l.log.Warn(fmt.Sprintf(format, v...)) }
func (l *brokerLog) Errorf(format string, v ...any)  { l.log.Error(fmt.Sprintf(format, v...)) }

func (l *brokerLog) Fatalf(format string, v ...any) {
	msg := fmt.Sprintf(format, v...)
	l.log.Error(msg)
	select {
	case l.fatal <- msg:
	default:
	}
}

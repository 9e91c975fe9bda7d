package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// verdict is what becomes of a message that a worker sends.
type verdict int

const (
	pass verdict = iota
	last         // it goes through, and nothing after it
	stop         // it doesn't go through, and nothing after it
)

// proxy stands between a worker and the broker. From the message on that judge decides it holds back whatever the worker sends, so that
// however fast the worker is, for everybody else it is stuck at that point.
type proxy struct {
	url  string
	held chan struct{} // closed when it begins to hold back
	free chan struct{} // closed by release

	judge func(subject string, body []byte) verdict
	mu    sync.Mutex // guards judge, and
	conns []net.Conn
	down  bool // no connection is taken
}

func startProxy(t *testing.T, broker string, judge func(subject string, body []byte) verdict) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{url: "nats://" + l.Addr().String(), held: make(chan struct{}), free: make(chan struct{}), judge: judge}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			worker, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", strings.TrimPrefix(broker, "nats://"))
			if err != nil {
				worker.Close()
				continue
			}
			if !p.keep(worker, server) {
				continue
			}
			running.Go(func() {
				_, _ = io.Copy(worker, server)
				worker.Close()
			})
			running.Go(func() {
				p.forward(server, bufio.NewReader(worker))
				server.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.release()
		p.cut()
		running.Wait()
	})
	return p
}

// keep notes the two ends of a connection, or closes them while the proxy is down.
func (p *proxy) keep(ends ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.down {
		p.conns = append(p.conns, ends...)
		return true
	}
	for _, c := range ends {
		c.Close()
	}
	return false
}

// cut ends all connections, and new ones as they come, until mend.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) mend() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = false
}

// release lets everything through.
func (p *proxy) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.judge = func(string, []byte) verdict { return pass }
	select {
	case <-p.free:
	default:
		close(p.free)
	}
}

// forward sends a worker's protocol lines and messages on until the connection ends.
func (p *proxy) forward(to io.Writer, from *bufio.Reader) {
	for {
		line, subject, payload, body, err := readMessage(from)
		if err != nil {
			return
		}
		p.mu.Lock()
		v := p.judge(subject, body)
		if v != pass {
			p.judge = func(string, []byte) verdict { return stop } // on other connections too
			select {
			case <-p.held:
			default:
				close(p.held)
			}
		}
		p.mu.Unlock()
		if v == stop {
			<-p.free
		}
		if _, err := io.WriteString(to, line+string(payload)); err != nil {
			return
		}
	}
}

// readMessage reads one line of the protocol, and what belongs to it if it is a message: PUB subject [reply] size, or HPUB subject
// [reply] header-size size.
func readMessage(r *bufio.Reader) (line, subject string, payload, body []byte, err error) {
	if line, err = r.ReadString('\n'); err != nil {
		return
	}
	fields := strings.Fields(line)
	if len(fields) < 3 || fields[0] != "PUB" && fields[0] != "HPUB" {
		return
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil {
		return line, "", nil, nil, fmt.Errorf("line %q: %w", line, err)
	}
	header := 0
	if fields[0] == "HPUB" {
		header, _ = strconv.Atoi(fields[len(fields)-2])
	}
	payload = make([]byte, size+len("\r\n"))
	_, err = io.ReadFull(r, payload)
	return line, fields[1], payload, payload[header:size], err
}

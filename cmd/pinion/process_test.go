package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pinion-zk/pinion/queue"
)

// process is a long-running child whose stderr is read line by line.
type process struct {
	name string
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended and all its lines are read

	mu    sync.Mutex
	lines []string
	more  chan struct{} // closed and replaced at each line
}

// spawn starts a child that the test's end kills.
func spawn(t *testing.T, name string, cmd *exec.Cmd) *process {
	t.Helper()
	if raceDetector {
		t.Skip("the race detector sees nothing of other processes: this runs without it, and in make soak")
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &process{name: name, cmd: cmd, done: make(chan struct{}), more: make(chan struct{})}
	go p.read(stderr)
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // most have ended already
		<-p.done
		if t.Failed() {
			t.Logf("%s:\n%s", name, p.text())
		}
	})
	return p
}

func (p *process) read(r io.Reader) {
	for lines := bufio.NewScanner(r); lines.Scan(); {
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait() // the exit code is in ProcessState
	close(p.done)
}

func (p *process) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// line waits for a line that matches, and returns its groups.
func (p *process) line(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	timeout := time.After(patience)
	for seen := 0; ; {
		p.mu.Lock()
		lines, more := p.lines[seen:], p.more
		p.mu.Unlock()
		for _, l := range lines {
			if groups := re.FindStringSubmatch(l); groups != nil {
				return groups
			}
		}
		seen += len(lines)
		select {
		case <-more:
		case <-p.done:
			t.Fatalf("%s ended without a line like %s:\n%s", p.name, pattern, p.text())
		case <-timeout:
			t.Fatalf("%s has no line like %s:\n%s", p.name, pattern, p.text())
		}
	}
}

// signal sends a signal and waits for the end; it returns the exit code, -1 if a signal ended the process.
func (p *process) signal(t *testing.T, s syscall.Signal) int {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("%s goes on after %v", p.name, s)
	}
	return p.cmd.ProcessState.ExitCode()
}

// startBroker runs a nats-server of its own.
func startBroker(t *testing.T) (url string) {
	t.Helper()
	b := &broker{dir: t.TempDir(), port: "-1"}
	b.start(t)
	return b.url
}

// ackWait of the brokers in these tests.
const ackWait = 2 * time.Second

// workerEnv is the configuration of the workers in these tests.
func workerEnv(url, name string, more ...string) []string {
	return append([]string{"PINION_NATS=" + url, "PINION_WORKER=" + name, "PINION_HTTP=127.0.0.1:0", "PINION_ACK_WAIT=" + ackWait.String()}, more...)
}

// startWorker runs pinion serve and waits until it takes jobs; web is the address of its probes.
func startWorker(t *testing.T, env []string) (p *process, web string) {
	t.Helper()
	cmd := exec.Command(program, "serve")
	cmd.Env = environment(env)
	p = spawn(t, "worker", cmd)
	line := p.line(t, `.*"worker ready".*`)[0]
	var ready struct {
		HTTP string `json:"http"`
	}
	if err := json.Unmarshal([]byte(line), &ready); err != nil {
		t.Fatal(err)
	}
	return p, "http://" + ready.HTTP
}

// broker is a nats-server with a client of the test's own.
type broker struct {
	dir, port, url string
	process        *process
	nc             *nats.Conn
	js             jetstream.JetStream
	client         *queue.Client
}

// start runs the server; after it was killed, with its store and at its address.
func (b *broker) start(t *testing.T) {
	t.Helper()
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	b.process = spawn(t, "nats-server", exec.Command(path, "-a", "127.0.0.1", "-p", b.port, "-js", "-sd", b.dir))
	address := b.process.line(t, `Listening for client connections on (\S+)`)[1]
	b.process.line(t, "Server is ready")
	b.url, b.port = "nats://"+address, address[strings.LastIndex(address, ":")+1:]
}

// provisioned starts a broker with the streams of the contract.
func provisioned(t *testing.T) *broker {
	t.Helper()
	b := &broker{dir: t.TempDir(), port: "-1"}
	b.start(t)
	must(t, pinion(t, []string{"PINION_NATS=" + b.url, "PINION_ACK_WAIT=" + ackWait.String()}, "provision"))
	b.bind(t)
	return b
}

// bind connects the test's own client.
func (b *broker) bind(t *testing.T) {
	t.Helper()
	var err error
	if b.nc, err = nats.Connect(b.url, queue.ConnectOptions(t.Name(), slog.New(slog.DiscardHandler))...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.nc.Close)
	if b.js, err = jetstream.New(b.nc); err != nil {
		t.Fatal(err)
	}
	if b.client, err = queue.NewClient(t.Context(), b.nc, queue.ClientConfig{}); err != nil {
		t.Fatal(err)
	}
}

// messages is the number of messages in a stream.
func (b *broker) messages(t *testing.T, stream string) uint64 {
	t.Helper()
	s, err := b.js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

// phase waits until the job enters a phase; call it before the job is submitted, and the returned function afterwards.
func (b *broker) phase(t *testing.T, id, phase string) (wait func()) {
	t.Helper()
	entered := make(chan struct{})
	var once sync.Once
	stop, err := b.client.OnProgress(id, func(p queue.Progress) {
		if p.Phase == phase {
			once.Do(func() { close(entered) })
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		t.Helper()
		defer stop()
		select {
		case <-entered:
		case <-time.After(patience):
			t.Fatalf("job %s never entered %s", id, phase)
		}
	}
}

// result waits for the stored result of a job.
func (b *broker) result(t *testing.T, id string) *queue.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := b.client.Wait(ctx, id)
	if err != nil {
		t.Fatalf("job %s: %v", id, err)
	}
	return r
}

// stored returns the result that is there already, nil if there is none.
func (b *broker) stored(t *testing.T, id string) *queue.Result {
	t.Helper()
	r, err := b.client.Result(t.Context(), id)
	if err != nil && !errors.Is(err, queue.ErrNoResult) {
		t.Fatal(err)
	}
	return r
}

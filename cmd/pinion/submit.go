package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pinion-zk/pinion/queue"
	"github.com/pinion-zk/pinion/service"
)

type submitCmd struct {
	Circuit  string        `arg:"" help:"Name, or name@digest, of a circuit that a worker serves."`
	Witness  []string      `placeholder:"F" xor:"witness" required:"" sep:"none" help:"Witness: a .wtns file. Repeated, the job has a proof for each."`
	Input    []string      `placeholder:"F" xor:"witness" required:"" sep:"none" help:"Inputs: circom's JSON, from which the worker computes the witness. Repeated, the job has a proof for each."`
	ID       string        `name:"id" placeholder:"ID" help:"Id of the job: 1 to 64 of A-Z, a-z, 0-9, _ and -. The same job under the same id is one job, however often it is submitted."`
	Priority string        `enum:"high,normal,low" default:"normal" help:"high, normal or low."`
	Deadline time.Duration `placeholder:"D" help:"Time from now after which the job has lost its worth."`
	Reply    string        `placeholder:"SUBJECT" help:"Subject that the result, progress and spans are sent to, besides the stored result."`
	Wait     bool          `help:"Wait for the result; what a job in the queue waits for is told on stderr."`
	Watch    bool          `help:"Wait, and tell of each phase on stderr; with --json, as lines of JSON before the result."`
	outputs
}

func (*submitCmd) Help() string {
	return "Prints the job's id, and with --wait what became of it: exit code 4 if the job ended without a proof. A submit that was " +
		"interrupted can be repeated with the same --id; pinion results has the result later."
}

func (s *submitCmd) Run(a *app) error {
	waits := s.Wait || s.Watch
	if !waits && s.wanted() {
		return &usageError{errors.New("--proof and --public go with --wait")}
	}
	sources, closeSources, err := s.sources()
	if err != nil {
		return err
	}
	defer closeSources()
	client, closeClient, err := a.client("submit")
	if err != nil {
		return err
	}
	defer closeClient()

	sub, err := s.submit(a, client, sources)
	if err != nil {
		return err
	}
	if !waits {
		return a.print(submission{sub.ID, sub.Circuit, sub.Duplicate}, func(w io.Writer) { fmt.Fprintln(w, sub.ID) })
	}
	result, err := s.await(a, client, sub.ID)
	if err != nil {
		return err
	}
	return s.finish(a, result)
}

// lateness is how long after its deadline a job's result may take: whoever has the job, or takes it then, ends it at once.
const lateness = 5 * time.Second

// await waits for the result, until some time after the job's deadline if it has one.
func (s *submitCmd) await(a *app, client *queue.Client, id string) (*queue.Result, error) {
	ctx := a.ctx
	if s.Deadline > 0 {
		late := fmt.Errorf("job %s: no result %s after its deadline, so perhaps no worker is running: %w", id, lateness, context.DeadlineExceeded)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.Deadline+lateness, late)
		defer cancel()
	}
	return a.follow(ctx, client, id, s.Watch)
}

// submission is what submit prints when it doesn't wait.
type submission struct {
	ID        string `json:"id"`
	Circuit   string `json:"circuit"`
	Duplicate bool   `json:"duplicate"`
}

// connect reaches the broker for a command.
func (a *app) connect(command string) (*nats.Conn, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	return config.Connect("pinion "+command, config.Logger(a.stderr))
}

// client connects to the queue for a command.
func (a *app) client(command string) (*queue.Client, func(), error) {
	nc, err := a.connect(command)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(a.ctx, brokerTime)
	defer cancel()
	client, err := service.NewClient(ctx, nc)
	if err != nil {
		nc.Close()
		return nil, nil, err
	}
	return client, nc.Close, nil
}

// sources opens what is to be proven, in the order of the flags.
func (s *submitCmd) sources() (sources []queue.Source, closeAll func(), err error) {
	var files []*os.File
	closeAll = func() {
		for _, f := range files {
			f.Close() // it was only read
		}
	}
	for _, path := range s.Input {
		data, err := readFile(path)
		if err != nil {
			return nil, nil, err
		}
		sources = append(sources, queue.Inputs(data))
	}
	for _, path := range s.Witness {
		f, err := os.Open(path)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		files = append(files, f)
		info, err := f.Stat()
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		sources = append(sources, queue.WtnsAt(f, info.Size()))
	}
	return sources, closeAll, nil
}

func (s *submitCmd) submit(a *app, client *queue.Client, sources []queue.Source) (*queue.Submission, error) {
	bar := a.bar()
	defer bar.close()
	request := queue.Request{
		ID:        s.ID,
		Circuit:   s.Circuit,
		Priority:  queue.Priority(s.Priority),
		Witnesses: sources,
		Reply:     s.Reply,
		Uploading: func(done, total int64) { bar.report("upload", done, total) },
	}
	if s.Deadline > 0 {
		request.Deadline = time.Now().Add(s.Deadline)
	}
	sub, err := client.Submit(a.ctx, request)
	if errors.Is(err, queue.ErrUnknownCircuit) {
		err = fmt.Errorf("%w; to store one for the workers and make its name known: pinion circuit push", err)
	}
	return sub, err
}

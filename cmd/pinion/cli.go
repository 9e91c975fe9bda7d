package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/signal"
	"strings"
	"syscall"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/pinion-zk/pinion/service"
)

// cli is the command line. Its tags are the help.
type cli struct {
	Serve     serveCmd     `cmd:"" help:"Run a worker: take jobs off the queue and prove them."`
	Submit    submitCmd    `cmd:"" help:"Put a job onto the queue."`
	Jobs      jobsCmd      `cmd:"" help:"List, show, cancel and requeue jobs."`
	Results   resultsCmd   `cmd:"" help:"Print a job's result, and write its proofs to files."`
	Workers   workersCmd   `cmd:"" help:"List, pause, resume and drain workers."`
	Prove     proveCmd     `cmd:"" help:"Prove a witness at once, in this process."`
	Verify    verifyCmd    `cmd:"" help:"Verify a proof."`
	Circuit   circuitCmd   `cmd:"" help:"Keep the catalogue of circuits."`
	Provision provisionCmd `cmd:"" help:"Create the streams and buckets on the broker, or compare them with what they should be."`
	Bench     benchCmd     `cmd:"" help:"Measure what this machine can do."`
	Demo      demoCmd      `cmd:"" help:"See it all work: broker, worker and jobs in this process."`

	JSON    bool             `name:"json" help:"Print results as JSON, and no progress."`
	Version kong.VersionFlag `help:"Print the version."`
}

const description = `Groth16 proofs of circom circuits on BN254 and BLS12-381, as a service on a NATS JetStream work queue or from the command line.

Commands read PINION_... variables from the environment; pinion serve --help lists them.

` + exitHelp

// app is what commands work with.
type app struct {
	ctx            context.Context // ends at SIGINT and SIGTERM; a second one ends the process
	environ        []string
	stdout, stderr io.Writer
	json           bool
}

// run is the whole program: it returns the exit code.
func run(args, environ []string, stdout, stderr io.Writer) int {
	var c cli
	parser, err := kong.New(&c,
		kong.Name("pinion"),
		kong.Description(description),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.Writers(stdout, stderr),
		kong.Vars{"version": service.Version()},
	)
	if err != nil {
		return report(stderr, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	command, err := parser.Parse(args)
	if err != nil {
		return report(stderr, &usageError{err})
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return report(stderr, command.Run(&app{ctx: ctx, environ: environ, stdout: stdout, stderr: stderr, json: c.JSON}))
}

// report prints an error on one line and returns its exit code.
func report(stderr io.Writer, err error) int {
	if err != nil {
		fmt.Fprintln(stderr, "pinion: "+oneLine(err.Error()))
	}
	return exitCode(err)
}

// oneLine keeps texts that others wrote from moving the cursor.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ReplaceAll(text, "\n", "; "))
}

// warnf tells of something that isn't an error but shouldn't go unnoticed.
func (a *app) warnf(format string, args ...any) {
	fmt.Fprintf(a.stderr, "pinion: warning: "+format+"\n", args...)
}

// config reads the environment.
func (a *app) config() (*service.Config, error) {
	c, err := service.LoadConfig(a.environ)
	if err != nil {
		return nil, &usageError{err}
	}
	return c, nil
}

// print writes v as JSON if that is asked for, else what text writes.
func (a *app) print(v any, text func(w io.Writer)) error {
	if !a.json {
		text(a.stdout)
		return nil
	}
	enc := json.NewEncoder(a.stdout)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

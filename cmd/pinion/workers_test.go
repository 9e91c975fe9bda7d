package main

import (
	"encoding/json"
	"testing"

	"github.com/pinion-zk/pinion/queue"
)

// What an operator sees of workers, and does with them.
func TestWorkers(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	env := []string{"PINION_NATS=" + b.url}
	run := func(args ...string) outcome {
		t.Helper()
		return pinion(t, env, append([]string{"workers"}, args...)...)
	}
	const head = "WORKER +READY +DEVICE +MEMORY +CIRCUITS +IN HAND +JOBS/MIN +DONE +FAILED\n"
	line := func(worker, ready, circuits string, done string) string {
		return worker + " +" + ready + ` +cpu.* +\S+ of 2GiB +` + circuits + " +- +" + done + " +" + done + " +0\n"
	}
	matches(t, must(t, run()), head)
	first, _ := startWorker(t, workerEnv(b.url, "first"))
	second, _ := startWorker(t, workerEnv(b.url, "second"))
	if out := must(t, run("pause", "second")); out != "second\n" {
		t.Errorf("printed %q", out)
	}
	for _, id := range b.many(t, "job", 4) {
		if r := b.result(t, id); r.Worker != "first" {
			t.Errorf("%s by %s, want the one that isn't paused", id, r.Worker)
		}
	}
	matches(t, must(t, run("list")), head+line("first", "yes", "multiplier-bn128", "4")+line("second", "service: queue: worker is paused", "-", "0"))
	var workers []struct {
		Worker, Reason string
		Jobs           struct{ Done int }
	}
	if err := json.Unmarshal([]byte(must(t, run("--json"))), &workers); err != nil || len(workers) != 2 || workers[0].Jobs.Done != 4 || workers[1].Reason == "" {
		t.Errorf("%v: %+v", err, workers)
	}
	must(t, run("resume", "second"))
	if out := must(t, run("drain", "first")); out != "first\n" {
		t.Errorf("printed %q", out)
	}
	<-first.done
	if code := first.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit code %d", code)
	}

	must(t, run("pause", "--all", "--for", "1h"))
	submitted(t, b.url, "waits")
	if o := run("list"); o.code != exitOK {
		t.Errorf("exit code %d", o.code)
	} else {
		matches(t, o.stderr, `pinion: warning: the fleet is paused for another \S+\n`)
	}
	if b.stored(t, "waits") != nil || b.messages(t, queue.StreamJobs) != 1 {
		t.Error("a paused fleet has proven a job")
	}
	must(t, run("resume", "--all"))
	if r := b.result(t, "waits"); r.Worker != "second" {
		t.Errorf("by %s, want the resumed one", r.Worker)
	}
	fails(t, run("pause", "first", "a.b"), exitInput, `no such worker: first; no such worker: "a.b"`)
	if out := must(t, run("drain", "--all")); out != "second\n" {
		t.Errorf("printed %q", out)
	}
	<-second.done
}

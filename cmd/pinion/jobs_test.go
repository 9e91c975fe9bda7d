package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/pinion-zk/pinion/queue"
)

// What an operator and a producer see of jobs, from their submission to the dead letters.
//
//nolint:tparallel // one step after the other
func TestJobs(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	env := []string{"PINION_NATS=" + b.url}
	must(t, pinion(t, append(env, "PINION_ACK_WAIT=2s"), "provision", "--circuits"))
	run := func(args ...string) outcome { t.Helper(); return pinion(t, env, args...) }
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	half := write(t, "half.json", []byte(`{"a": 3}`))

	// Without a worker.
	must(t, run("submit", "multiplier-bn128", "--input", input, "--id", "unwanted", "--priority", "low"))
	must(t, run("submit", "multiplier-bn128", "--input", half, "--id", "bad"))
	matches(t, must(t, run("jobs", "list")), `JOB +STATE +PHASE +PRIORITY +CIRCUIT +ATTEMPTS +WORKER +CHANGED
unwanted +queued +low +multiplier-bn128 +0 +\d+s ago
bad +queued +normal +multiplier-bn128 +0 +\d+s ago
`)
	fails(t, run("results", "unwanted"), exitUnavailable, "queue: no result of unwanted yet: queued; no worker has taken it yet")
	must(t, run("jobs", "cancel", "unwanted"))
	watched := exec.Command(program, "submit", "multiplier-bn128", "--input", input, "--input", input, "--id", "pair", "--watch")
	watched.Env = environment(env)
	var stdout bytes.Buffer
	watched.Stdout = &stdout
	watch := spawn(t, "submit --watch", watched)
	watch.line(t, `^pinion: job pair: queued; no worker has taken it yet$`)

	startWorker(t, workerEnv(b.url, "w"))
	for _, phase := range []string{queue.PhaseWitness, queue.PhaseDevice, queue.PhaseCheck} {
		watch.line(t, `^pinion: job pair: `+phase+`( \d+ %)?, attempt 1 on w$`)
	}
	<-watch.done
	matches(t, stdout.String(), `pair done in \d+ ms by w on .+\n`)
	fails(t, run("results", "unwanted", "--wait"), exitRefused, "job unwanted: cancelled: cancelled: cancelled by a producer")
	const incomplete = `invalid_inputs: witness 0: inputs: 1 of 2 input values are set, by "a"; a signal is missing`
	fails(t, run("results", "bad", "--wait"), exitRefused, "job bad: failed: "+incomplete)

	// Several proofs of one job, from a process that knows but its id.
	dir := t.TempDir()
	must(t, run("results", "pair", "--proof", filepath.Join(dir, "proof.json"), "--public", filepath.Join(dir, "public.json")))
	for _, i := range []string{"-0", "-1"} {
		must(t, verify(t, "multiplier", "bn128", filepath.Join(dir, "proof"+i+".json"), filepath.Join(dir, "public"+i+".json")))
	}

	// The failed one, and again under another id.
	matches(t, must(t, run("jobs", "list", "--dead")), `JOB +PRIORITY +CIRCUIT +ATTEMPTS +WORKER +FAILED +ERROR
bad +normal +multiplier-bn128 +1 +w +\d+s ago +invalid_inputs: witness 0: inputs: 1 of 2 .*
`)
	if out := must(t, run("jobs", "requeue", "bad", "--id", "bad-2")); out != "bad-2\n" {
		t.Errorf("printed %q", out)
	}
	fails(t, run("results", "bad-2", "--wait"), exitRefused, "job bad-2: failed: "+incomplete)
	matches(t, must(t, run("jobs", "show", "bad")), `job +bad
state +failed
priority +normal
circuit +multiplier-bn128
attempts +1
worker +w
changed +\S+ \(\d+s ago\)
result +failed by w, attempt 1
took +\S+
error +invalid_inputs: .*
(trace +[0-9a-f]{32}
)?dead letter +\S+ \(\d+s ago\)

ATTEMPT +WORKER +BEGAN +ERROR
1 +w +\S+ \(\d+s ago\) +invalid_inputs: .*
`)

	t.Run("json", func(t *testing.T) {
		var jobs, dead []map[string]any
		var shown struct {
			Job, Dead map[string]any
			Result    struct{ Proofs []any }
		}
		parse := func(v any, args ...string) {
			t.Helper()
			out := must(t, run(append(args, "--json")...))
			if err := json.Unmarshal([]byte(out), v); err != nil {
				t.Errorf("%s: %v in %s", strings.Join(args, " "), err, out)
			}
		}
		parse(&jobs, "jobs", "list", "--state", "failed,cancelled")
		if len(jobs) != 3 || jobs[0]["state"] == "done" {
			t.Errorf("jobs %v", jobs)
		}
		parse(&dead, "jobs", "list", "--dead")
		if len(dead) != 2 || dead[1]["id"] != "bad-2" || dead[1]["code"] != "invalid_inputs" {
			t.Errorf("dead letters %v", dead)
		}
		parse(&shown, "jobs", "show", "pair")
		if shown.Job["state"] != "done" || len(shown.Result.Proofs) != 2 || shown.Dead != nil {
			t.Errorf("job %+v", shown)
		}
		var event, result map[string]any
		lines := json.NewDecoder(strings.NewReader(must(t, run("submit", "multiplier-bn128", "--input", input, "--watch", "--json"))))
		for lines.More() {
			event, result = result, map[string]any{}
			if err := lines.Decode(&result); err != nil {
				t.Fatal(err)
			}
		}
		if result["proofs"] == nil || event != nil && event["proofs"] != nil {
			t.Errorf("events and result: %v, %v", event, result)
		}
	})

	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"results", "nobody"}, exitInput, "queue: unknown job: nobody"},
		{[]string{"results", "nobody", "--wait"}, exitInput, "queue: unknown job: nobody"},
		{[]string{"results", "a.b"}, exitInput, "queue: unknown job: a.b"},
		{[]string{"jobs", "show", "nobody"}, exitInput, "queue: unknown job: nobody"},
		{[]string{"jobs", "cancel", "nobody", "a.b"}, exitInput, "queue: unknown job: nobody; queue: unknown job: a.b"},
		{[]string{"jobs", "cancel", "unwanted"}, exitOK, ""},
		{[]string{"jobs", "cancel", "pair"}, exitRefused, "job pair: done; it can't be cancelled any more"},
		{[]string{"jobs", "requeue", "pair"}, exitInput, "queue: no dead letter: pair"},
		{[]string{"jobs", "requeue", "bad", "--id", "a.b"}, exitInput, `queue: requeue bad: queue: malformed job: id: found "a.b", expected 1 to 64 of A-Z a-z 0-9 _ -`},
		{[]string{"jobs", "requeue", "bad", "--id", "pair"}, exitInput, "queue: job id is taken by another job: pair"},
	} {
		fails(t, run(test.args...), test.code, test.want)
	}
}

// matches checks a text against a pattern for the whole of it.
func matches(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(`^` + pattern + `$`).MatchString(text) {
		t.Errorf("printed:\n%s\nwant:\n%s", text, pattern)
	}
}

// fails checks how a command ended.
func fails(t *testing.T, o outcome, code int, message string) {
	t.Helper()
	if message != "" {
		message = "pinion: " + message + "\n"
	}
	if o.code != code || o.stderr != message {
		t.Errorf("exit code %d, want %d\n got: %swant: %s", o.code, code, o.stderr, message)
	}
}

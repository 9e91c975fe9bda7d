package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// rolesBroker runs a nats-server with the users of deploy/nats-roles.conf, and returns the environment of each.
func rolesBroker(t *testing.T) map[string][]string {
	t.Helper()
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	roles, err := os.ReadFile("../../deploy/nats-roles.conf")
	if err != nil {
		t.Fatal(err)
	}
	conf := write(t, "nats.conf", fmt.Appendf(roles, "\nlisten: 127.0.0.1:-1\njetstream {store_dir: %q}\n", t.TempDir()))
	cmd := exec.Command(path, "-c", conf)
	cmd.Env = append(os.Environ(), "PINION_PRODUCER_PASSWORD=p", "PINION_WORKER_PASSWORD=w", "PINION_OPERATOR_PASSWORD=o", "PINION_OBSERVER_PASSWORD=e")
	address := spawn(t, "nats-server", cmd).line(t, `Listening for client connections on (\S+)`)[1]
	envs := map[string][]string{}
	for role, user := range map[string]struct{ password, inbox string }{
		"producer": {"p", "pinion.reply.producer"}, "worker": {"w", "_INBOX.worker"}, "operator": {"o", "_INBOX.operator"}, "observer": {"e", "_INBOX.observer"},
	} {
		envs[role] = []string{
			"PINION_NATS_USER=" + role, "PINION_NATS_PASSWORD_FILE=" + write(t, "password", []byte(user.password+"\n")), "PINION_NATS_INBOX=" + user.inbox,
			"PINION_NATS=nats://" + address, "PINION_ACK_WAIT=" + ackWait.String(), "PINION_CIRCUITS=" + catalogue,
		}
	}
	return envs
}

// The commands of each role, with the permissions that are shipped; and what those are told who may not.
func TestRoles(t *testing.T) {
	t.Parallel()
	env := rolesBroker(t)
	as := func(role string, args ...string) outcome {
		t.Helper()
		return pinion(t, env[role], args...)
	}
	must(t, as("operator", "provision"))
	must(t, as("operator", "circuit", "push", "multiplier-bn128"))
	serving, _ := startWorker(t, append(env["worker"], "PINION_WORKER=w", "PINION_HTTP=127.0.0.1:0", "PINION_CIRCUITS="+t.TempDir()))
	proof := filepath.Join(t.TempDir(), "proof.json")
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	must(t, as("producer", "submit", "multiplier-bn128", "--input", input, "--id", "one", "--wait", "--proof", proof))
	if _, err := os.Stat(proof); err != nil {
		t.Error(err)
	}
	must(t, as("producer", "results", "one"))

	const refused = "the broker refused: this user may not publish to "
	shown := as("producer", "jobs", "show", "one")
	must(t, shown)
	if want := "pinion: warning: whether there is a dead letter: queue: stream PINION_DEAD: " + refused + "$JS.API.STREAM.INFO.PINION_DEAD\n"; shown.stderr != want {
		t.Errorf("told %q", shown.stderr)
	}
	fails(t, as("producer", "jobs", "list"), exitUnavailable, "queue: list jobs: "+refused+"$JS.API.DIRECT.GET.KV_pinion_state")
	fails(t, as("producer", "workers", "drain", "w"), exitUnavailable, "drain worker w: "+refused+"pinion.worker.w.drain")
	for _, role := range []string{"producer", "worker", "observer"} { // who chooses keys chooses what is proven
		o := as(role, "circuit", "push", "bare")
		if o.code != exitUnavailable || !strings.Contains(o.stderr, refused) {
			t.Errorf("%s pushes a circuit: exit code %d: %s", role, o.code, o.stderr)
		}
	}
	must(t, as("worker", "circuit", "pull", "multiplier-bn128"))
	must(t, as("operator", "circuit", "push", "bare"))
	must(t, as("operator", "circuit", "use", "bare@"+digest(t, catalogue, "bare")))
	must(t, as("operator", "circuit", "list", "--remote"))
	fails(t, as("producer", "provision"), exitUnavailable, refused+"$JS.API.STREAM.INFO.PINION_JOBS")

	matches(t, must(t, as("observer", "jobs", "list")), `JOB +STATE.*\none +done.*\n`)
	must(t, as("observer", "results", "one"))
	seen := as("observer", "workers")
	matches(t, must(t, seen), `WORKER +READY.*\nw +yes.*\n`)
	if want := "pinion: warning: whether the fleet is paused: queue: consumer pinion-high: " + refused + "$JS.API.CONSUMER.INFO.PINION_JOBS.pinion-high\n"; seen.stderr != want {
		t.Errorf("told %q", seen.stderr)
	}
	fails(t, as("observer", "submit", "multiplier-bn128", "--input", input, "--id", "two"), exitUnavailable,
		"queue: create record of two: "+refused+"$KV.pinion_state.job.two")
	fails(t, as("observer", "workers", "pause", "--all"), exitUnavailable,
		"queue: consumer pinion-high: "+refused+"$JS.API.CONSUMER.PAUSE.PINION_JOBS.pinion-high")

	must(t, as("operator", "jobs", "list"))
	must(t, as("operator", "jobs", "list", "--dead"))
	must(t, as("operator", "workers", "drain", "w"))
	<-serving.done
	if code := serving.cmd.ProcessState.ExitCode(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

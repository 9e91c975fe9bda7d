package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/queue"
)

// submitted runs pinion submit for merkle on BLS12-381, the slowest of the examples, by its inputs.
func submitted(t *testing.T, url, id string) {
	t.Helper()
	if out := must(t, pinion(t, []string{"PINION_NATS=" + url}, "submit", "merkle-bls12381", "--input", inputs(t, "merkle"), "--id", id)); out != id+"\n" {
		t.Fatalf("printed %q, expected the id", out)
	}
}

// verified checks the result of an example as a producer does.
func verified(t *testing.T, r *queue.Result, name, curve string) {
	t.Helper()
	if r.State != queue.Done || len(r.Proofs) != 1 {
		t.Fatalf("%s: %v", r.State, r.Err)
	}
	proof, public, err := decodeProof(r.Proofs[0])
	if err != nil {
		t.Fatal(err)
	}
	var key groth16.VerifyingKey
	if err := readJSON(exampleFile(name, curve, circuits.VerificationKey), &key); err != nil {
		t.Fatal(err)
	}
	if err := key.Verify(proof, public); err != nil {
		t.Error(err)
	}
}

// SIGTERM in the middle of a job: the worker finishes it, takes no other, and ends well; what is queued stays for the next worker.
func TestDrain(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	first, web := startWorker(t, workerEnv(b.url, "first", "PINION_JOBS=1"))
	if code, body := get(t, web+"/readyz"); code != http.StatusOK {
		t.Errorf("not ready: %d %s", code, body)
	}
	entered := b.phase(t, "job-0", queue.PhaseDevice)
	for i := range 4 {
		submitted(t, b.url, fmt.Sprintf("job-%d", i))
	}
	entered()
	if code := first.signal(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	r := b.stored(t, "job-0")
	if r == nil {
		t.Fatal("the job in hand was not finished")
	}
	verified(t, r, "merkle", "bls12381")
	startWorker(t, workerEnv(b.url, "second"))
	for i := range 4 {
		verified(t, b.result(t, fmt.Sprintf("job-%d", i)), "merkle", "bls12381")
	}
	if n := b.messages(t, queue.StreamResults); n != 4 {
		t.Errorf("%d results", n)
	}
}

// get fetches a page.
func get(t *testing.T, url string) (int, string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(body)
}

// deadlines matches the one part of a message that can't be known before.
var deadlines = regexp.MustCompile(`deadline \d{4}-\S+`)

// digest is the digest of a circuit in a catalogue.
func digest(t *testing.T, dir, name string) string {
	t.Helper()
	c, err := circuit.OpenCatalogue(dir)
	if err != nil {
		t.Fatal(err)
	}
	info, err := c.Info(circuit.Ref{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	return info.Digest.String()
}

// What a producer can do wrong, and what it is told.
//
//nolint:tparallel // one step after the other
func TestSubmit(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	own := filepath.Join(t.TempDir(), "catalogue")
	if err := os.CopyFS(own, os.DirFS(catalogue)); err != nil {
		t.Fatal(err)
	}
	loop := write(t, "loop.wasm", loopForEver(t, read(t, exampleFile("multiplier", "bn128", circuits.Wasm))))
	env := []string{"PINION_NATS=" + b.url, "PINION_CIRCUITS=" + own}
	must(t, pinion(t, env, "circuit", "add", "loop", "--zkey", exampleFile("multiplier", "bn128", circuits.Zkey), "--wasm", loop))
	worker, web := startWorker(t, workerEnv(b.url, "w", "PINION_CIRCUITS="+own))

	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	wrong := write(t, "wrong.json", []byte(`{"a": 3}`))
	other := strings.Repeat("ab", 32)
	tests := []struct {
		name string
		args []string
		code int
		want string
	}{
		{"unknown circuit", []string{"nosuch", "--input", input}, exitInput, `queue: unknown circuit: nosuch; to store one for the workers and make its name known: pinion circuit push`},
		{"unknown circuit by digest", []string{"nosuch@" + other, "--input", input, "--id", "a"}, exitRefused, `job a: failed: unknown_circuit: circuit nosuch: unknown circuit`},
		{"wrong digest", []string{"multiplier-bn128@" + other, "--input", input, "--id", "b"}, exitRefused,
			`job b: failed: wrong_digest: circuit multiplier-bn128: the circuit has another digest: found ` + digest(t, own, "multiplier-bn128") + `, expected ` + other},
		{"forgeable circuit", []string{"loose", "--witness", exampleFile("multiplier", "bn128", circuits.Witness), "--id", "c"}, exitRefused, `job c: failed: forgeable_circuit: circuit loose: its key has no phase-2 contribution (gamma = delta), so that anybody can forge proofs; it isn't allowed by name`},
		{"input missing", []string{"multiplier-bn128", "--input", wrong, "--id", "d"}, exitRefused, `job d: failed: invalid_inputs: witness 0: inputs: 1 of 2 input values are set, by "a"; a signal is missing`},
		{"witness of another circuit", []string{"multiplier-bn128", "--witness", exampleFile("merkle", "bn128", circuits.Witness), "--id", "e"}, exitRefused, `job e: failed: invalid_witness: witness 0: witness: section 1 at byte 60: found 1995 values, expected 4`},
		{"reply outside the allowed prefixes", []string{"multiplier-bn128", "--input", input, "--id", "f", "--reply", "$JS.API.STREAM.DELETE.PINION_JOBS"}, exitRefused, `job f: failed: invalid_reply: reply subject "$JS.API.STREAM.DELETE.PINION_JOBS": expected one that begins with _INBOX. or _INBOX_ or pinion.reply.`},
		{"calculator that loops for ever", []string{"loop", "--input", input, "--id", "g", "--deadline", "3s"}, exitRefused, `job g: expired: deadline: deadline TIME passed`},
		{"bad id", []string{"multiplier-bn128", "--input", input, "--id", "a.b"}, exitInput, `queue: malformed job: id: found "a.b", expected 1 to 64 of A-Z a-z 0-9 _ -`},
		{"well done", []string{"multiplier-bn128", "--input", input, "--id", "h"}, exitOK, ``},
		{"the same again", []string{"multiplier-bn128", "--input", input, "--id", "h"}, exitOK, ``},
		{"another job under that id", []string{"multiplier-bls12381", "--input", input, "--id", "h"}, exitInput, `queue: job id is taken by another job: h`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := pinion(t, env, append([]string{"submit", "--wait"}, test.args...)...)
			want := ""
			if test.want != "" {
				want = "pinion: " + test.want + "\n"
			}
			if got := deadlines.ReplaceAllString(o.stderr, "deadline TIME"); o.code != test.code || got != want {
				t.Errorf("exit code %d, want %d\n got: %swant: %s", o.code, test.code, got, want)
			}
		})
	}
	t.Run("proof", func(t *testing.T) {
		dir := t.TempDir()
		proof, public := filepath.Join(dir, "proof.json"), filepath.Join(dir, "public.json")
		must(t, pinion(t, env, "submit", "merkle-bn128", "--witness", exampleFile("merkle", "bn128", circuits.Witness), "--wait", "--proof", proof, "--public", public))
		must(t, verify(t, "merkle", "bn128", proof, public))
	})
	t.Run("metrics", func(t *testing.T) {
		_, body := get(t, web+"/metrics")
		for _, want := range []string{`pinion_jobs_total{state="done"} 2`, `pinion_jobs_total{state="wrong_digest"} 1`, `pinion_device_healthy{device="`, `pinion_device_time_seconds_total{device="`, `phase="msm"`, `pinion_phase_duration_seconds_bucket{circuit="merkle-bn128",phase="device"`, `pinion_memory_budget_bytes{`, `pinion_pool_idle_bytes{`, `pinion_build_info{`} {
			if !strings.Contains(body, want) {
				t.Errorf("no %s in:\n%s", want, body)
			}
		}
	})
	t.Run("circuit removed while it is served", func(t *testing.T) { // P6
		must(t, pinion(t, env, "circuit", "remove", "merkle-bls12381"))
		// Another worker may still have it: the job waits for one until its deadline.
		o := pinion(t, env, "submit", "merkle-bls12381", "--input", inputs(t, "merkle"), "--wait", "--id", "i", "--deadline", "4s")
		waits, ends, _ := strings.Cut(o.stderr, "\n")
		if o.code != exitRefused || waits != "pinion: job i: queued; handed on: circuit merkle-bls12381: unknown circuit" ||
			!strings.HasPrefix(ends, "pinion: job i: expired: deadline: ") ||
			!strings.HasSuffix(ends, " times: circuit merkle-bls12381: unknown circuit\n") {
			t.Errorf("exit code %d: %s", o.code, o.stderr)
		}
		worker.line(t, `"deferred",.*"job":"i",.*circuit merkle-bls12381: unknown circuit`)
	})
}

// A worker and a producer without a broker, and on one that nobody provisioned.
func TestNoBroker(t *testing.T) {
	t.Parallel()
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	commands := [][]string{{"serve"}, {"submit", "multiplier-bn128", "--input", input}}
	for _, args := range commands {
		o := pinion(t, []string{"PINION_NATS=nats://127.0.0.1:1", "PINION_HTTP=off", "PINION_LOG=error"}, args...)
		if want := "pinion: broker nats://127.0.0.1:1: nats: no servers available for connection; start one there, or set PINION_NATS\n"; o.code != exitUnavailable || !strings.HasSuffix(o.stderr, want) {
			t.Errorf("%s: exit code %d, %s", args[0], o.code, o.stderr)
		}
	}
	url := startBroker(t)
	for _, args := range commands {
		o := pinion(t, []string{"PINION_NATS=" + url, "PINION_HTTP=off", "PINION_LOG=error"}, args...)
		if want := "; run: pinion provision\n"; o.code != exitUnavailable || !strings.HasSuffix(o.stderr, want) {
			t.Errorf("%s: exit code %d, %s", args[0], o.code, o.stderr)
		}
	}
}

// Whoever waits for a job with a deadline gets an answer, also if no worker runs.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	env := []string{"PINION_NATS=" + startBroker(t)}
	must(t, pinion(t, env, "provision", "--circuits"))
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	o := pinion(t, env, "submit", "multiplier-bn128", "--input", input, "--id", "a", "--wait", "--deadline", "100ms")
	if want := "pinion: job a: queued; no worker has taken it yet\npinion: job a: no result 5s after its deadline, so perhaps no worker is running: context deadline exceeded\n"; o.code != exitUnavailable || o.stderr != want {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// Provisioning twice is provisioning once; what differs is told, and left as it is.
func TestProvision(t *testing.T) {
	t.Parallel()
	url := startBroker(t)
	env := []string{"PINION_NATS=" + url}
	for range 2 {
		if out := must(t, pinion(t, env, "provision", "--circuits")); out != "" {
			t.Errorf("printed %q", out)
		}
	}
	o := pinion(t, append(env, "PINION_ACK_WAIT=7s"), "provision")
	if want := "pinion: 3 differences on the broker; none was changed, which --update does\n"; o.code != exitFailure || o.stderr != want {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if want := "consumer pinion-high: "; !strings.HasPrefix(o.stdout, want) || strings.Count(o.stdout, "\n") != 3 {
		t.Errorf("printed %s", o.stdout)
	}
	must(t, pinion(t, append(env, "PINION_ACK_WAIT=7s"), "provision", "--update"))
	must(t, pinion(t, env, "provision", "--update"))
	o = pinion(t, env, "provision", "--max-jobs", "5", "--max-bytes", "1MiB", "--result-age", "1h", "--dead-age", "2h", "--witness-age", "3h", "--storage", "memory")
	want := `stream PINION_JOBS: max_bytes is 4294967296, expected 1048576
stream PINION_JOBS: max_msgs is 10000, expected 5
stream PINION_JOBS: storage is "file", expected "memory"
stream PINION_RESULTS: max_age is 72h0m0s, expected 1h0m0s
stream PINION_RESULTS: storage is "file", expected "memory"
stream PINION_DEAD: max_age is 336h0m0s, expected 2h0m0s
stream PINION_DEAD: storage is "file", expected "memory"
stream KV_pinion_state: storage is "file", expected "memory"
stream OBJ_pinion_witness: max_age is 336h0m0s, expected 3h0m0s
stream OBJ_pinion_witness: storage is "file", expected "memory"
stream OBJ_pinion_circuits: storage is "file", expected "memory"
consumer pinion-high: max_ack_pending is 10000, expected 5
consumer pinion-normal: max_ack_pending is 10000, expected 5
consumer pinion-low: max_ack_pending is 10000, expected 5
`
	if o.code != exitFailure || o.stdout != want {
		t.Errorf("exit code %d: %s%s", o.code, o.stdout, o.stderr)
	}
	o = pinion(t, env, "provision", "--max-jobs", "5", "--storage", "memory", "--update")
	if want := "pinion: 6 differences on the broker are left, which it can't change\n"; o.code != exitFailure || o.stderr != want {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	if out := must(t, pinion(t, env, "provision", "--max-jobs", "5")); out != "" {
		t.Errorf("printed %q", out)
	}
	o = pinion(t, env, "provision", "--result-age", "1m")
	if want := "pinion: queue: age of results: found 1m0s, expected at least 2m0s\n"; o.code != exitUsage || o.stderr != want {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	o = pinion(t, []string{"PINION_NATS=" + startBroker(t)}, "provision", "--replicas", "3")
	if want := "pinion: queue: create stream PINION_JOBS: queue: no place on the broker: 3 replicas on a single server, which keeps 1: "; o.code != exitUnavailable || !strings.HasPrefix(o.stderr, want) {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	// A producer finds the circuits by name before there is any worker.
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	must(t, pinion(t, env, "submit", "multiplier-bn128", "--input", input))
}

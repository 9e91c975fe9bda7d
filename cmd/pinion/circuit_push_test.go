package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/queue"
)

// bare is the configuration of a worker on a new machine: it knows the broker, and has an empty folder.
func bare(t *testing.T, url, name string, more ...string) []string {
	t.Helper()
	return workerEnv(url, name, append([]string{"PINION_CIRCUITS=" + filepath.Join(t.TempDir(), "circuits")}, more...)...)
}

// push pushes a circuit of the common catalogue.
func (b *broker) push(t *testing.T, name string) {
	t.Helper()
	if out := must(t, pinion(t, []string{"PINION_NATS=" + b.url}, "circuit", "push", name)); out != name+"@"+digest(t, catalogue, name)+"\n" {
		t.Fatalf("printed %q", out)
	}
}

// count is the number of a process's lines with a text.
func (p *process) count(text string) int { return strings.Count(p.text(), text) }

// reading holds a worker back when it asks for the first chunk of a circuit.
func reading(subject string, _ []byte) verdict {
	if subject == "$JS.API.DIRECT.GET.OBJ_"+queue.BucketCircuits {
		return stop
	}
	return pass
}

const fetched = `"msg":"circuit fetched"`

// A worker that knows nothing but the broker proves a circuit that was pushed: with its calculator, checked, fetched once and kept.
func TestWorkerNeedsOnlyTheBroker(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	b.push(t, "merkle-bls12381")
	before := b.messages(t, "OBJ_"+queue.BucketCircuits)
	b.push(t, "merkle-bls12381")
	if after := b.messages(t, "OBJ_"+queue.BucketCircuits); after != before {
		t.Errorf("pushing it again added %d messages", after-before)
	}
	env := bare(t, b.url, "new")
	for round := range 2 { // the second finds what the first has fetched
		worker, _ := startWorker(t, env)
		id := fmt.Sprintf("job-%d", round)
		submitted(t, b.url, id)
		r := b.result(t, id)
		verified(t, r, "merkle", "bls12381")
		if r.Attempt != 1 {
			t.Errorf("attempt %d", r.Attempt)
		}
		if n := worker.count(fetched); n != 1-round {
			t.Errorf("round %d: %d downloads", round, n)
		}
		if code := worker.signal(t, syscall.SIGTERM); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	}
	b.settled(t, 2)
	// The commands see it too.
	var listed []struct{ Name, Digest string }
	out := must(t, pinion(t, env, "circuit", "list", "--json"))
	if err := json.Unmarshal([]byte(out), &listed); err != nil || len(listed) != 1 || listed[0].Name != "merkle-bls12381" || listed[0].Digest != digest(t, catalogue, "merkle-bls12381") {
		t.Errorf("%v: %s", err, out)
	}
	must(t, pinion(t, env, "circuit", "check", "merkle-bls12381"))
	dir := t.TempDir()
	proof, public := filepath.Join(dir, "proof.json"), filepath.Join(dir, "public.json")
	must(t, pinion(t, env, "prove", "merkle-bls12381", "--input", inputs(t, "merkle"), "--proof", proof, "--public", public))
	must(t, verify(t, "merkle", "bls12381", proof, public))
}

// Two workers of one machine want a circuit at the same time: one downloads it. A job of another circuit isn't kept waiting.
func TestOneDownloadPerMachine(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	b.push(t, "multiplier-bn128")
	shared := "PINION_CIRCUITS=" + filepath.Join(t.TempDir(), "circuits")
	must(t, pinion(t, []string{shared}, "circuit", "add", "other", "--zkey", exampleFile("multiplier", "bls12381", circuits.Zkey)))
	p := startProxy(t, b.url, reading)
	first, _ := startWorker(t, workerEnv(p.url, "first", shared))
	ids := b.many(t, "first", 1)
	<-p.held
	second, _ := startWorker(t, workerEnv(b.url, "second", shared))
	ids = append(ids, b.many(t, "second", 5)...)
	second.line(t, `"msg":"deferred".*"reason":"circuit multiplier-bn128 is still loading`)
	must(t, pinion(t, []string{"PINION_NATS=" + b.url}, "submit", "other", "--witness", exampleFile("multiplier", "bls12381", circuits.Witness), "--id", "other"))
	if r := b.result(t, "other"); r.State != queue.Done || r.Worker != "second" {
		t.Errorf("the other circuit's job: %s by %s: %v", r.State, r.Worker, r.Err)
	}
	if second.count(fetched) != 0 {
		t.Error("downloaded by both")
	}
	p.release()
	for _, id := range ids {
		if r := b.result(t, id); r.State != queue.Done {
			t.Errorf("%s: %s: %v", id, r.State, r.Err)
		}
	}
	b.settled(t, 7)
	if n, m := first.count(fetched), second.count(fetched); n != 1 || m != 0 {
		t.Errorf("%d and %d downloads, expected 1 and 0", n, m)
	}
}

// A worker that is killed while it fetches a circuit leaves no half of one, and nothing that keeps the next from fetching it.
func TestKilledWhileFetching(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	b.push(t, "multiplier-bn128")
	dir := filepath.Join(t.TempDir(), "circuits")
	more := []string{"PINION_CIRCUITS=" + dir, "PINION_PRELOAD=multiplier-bn128"}
	p := startProxy(t, b.url, reading)
	cmd := exec.Command(program, "serve")
	cmd.Env = environment(workerEnv(p.url, "first", more...))
	first := spawn(t, "first", cmd)
	<-p.held
	if code := first.signal(t, syscall.SIGKILL); code != -1 {
		t.Fatalf("exit code %d", code)
	}
	left, err := filepath.Glob(filepath.Join(dir, ".scratch-*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("killed with the folders %v, %v", left, err)
	}
	second, _ := startWorker(t, workerEnv(b.url, "second", more...))
	if second.count(fetched) != 1 {
		t.Error("not fetched")
	}
	for _, of := range []string{".scratch-*", ".incoming-*"} {
		if left, err := filepath.Glob(filepath.Join(dir, of)); err != nil || len(left) != 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// A circuit is replaced under its name and brought back while jobs of both are queued and workers restart one after the other, on
// machines that have neither: no job fails, and each is proven with the key that its name meant when it was submitted.
func TestCircuitReplacedAndBroughtBack(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	env := []string{"PINION_NATS=" + b.url, "PINION_CIRCUITS=" + filepath.Join(t.TempDir(), "circuits")}
	run := func(args ...string) string {
		t.Helper()
		return strings.TrimSpace(must(t, pinion(t, env, args...)))
	}
	add := func(zkey string) string {
		return run("circuit", "add", "age", "--zkey", exampleFile("multiplier", "bn128", zkey), "--wasm", exampleFile("multiplier", "bn128", circuits.Wasm))
	}
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	want := map[string]string{} // circuit by job
	batch := func(name, ref string) {
		t.Helper()
		for i := range 20 {
			id := fmt.Sprintf("%s-%d", name, i)
			s, err := b.client.Submit(t.Context(), queue.Request{ID: id, Circuit: "age", Witnesses: []queue.Source{queue.Inputs(read(t, input))}})
			if err != nil || s.Circuit != ref {
				t.Fatalf("%s: %+v, %v", id, s, err)
			}
			want[id] = ref
		}
	}
	worker := func(name string) *process {
		t.Helper()
		p, _ := startWorker(t, bare(t, b.url, name, "PINION_ALLOW_FORGEABLE=age"))
		return p
	}
	done := b.done(t)

	first := add(circuits.Zkey)
	run("circuit", "push", "age")
	batch("one", first)
	run("circuit", "remove", "age")
	second := add(circuits.Forgeable) // another key of the same circuit
	if o := pinion(t, env, "circuit", "push", "age"); o.code != exitInput || o.stderr !=
		fmt.Sprintf("pinion: queue: circuit name is registered with another digest: %s, not %s; --replace makes it this one\n", first, second[len("age@"):]) {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	run("circuit", "push", "age", "--replace")
	batch("two", second)
	a, c := worker("a"), worker("c")
	receive(t, done, 5)
	if out := run("circuit", "use", first); out != first {
		t.Errorf("printed %q", out)
	}
	batch("three", first)
	for i, old := range []*process{a, c} { // a rolling restart
		next := worker(fmt.Sprintf("next-%d", i))
		if code := old.signal(t, syscall.SIGTERM); code != exitOK {
			t.Errorf("exit code %d", code)
		}
		batch(fmt.Sprintf("after-%d", i), first)
		defer next.signal(t, syscall.SIGTERM)
	}
	for id, ref := range want {
		r := b.result(t, id)
		if r.State != queue.Done || r.Attempt != 1 || "age@"+r.Circuit != ref {
			t.Errorf("%s: %s, attempt %d, circuit %s, expected %s: %v", id, r.State, r.Attempt, r.Circuit, ref, r.Err)
		}
	}
	b.settled(t, uint64(len(want)))

	var listed []struct {
		Digest  string
		Current bool
	}
	if err := json.Unmarshal([]byte(run("circuit", "list", "--remote", "--json")), &listed); err != nil || len(listed) != 2 {
		t.Fatalf("%v: %+v", err, listed)
	}
	for _, c := range listed {
		if c.Current != ("age@"+c.Digest == first) {
			t.Errorf("%+v, the name means %s", c, first)
		}
	}
	if o := pinion(t, env, "circuit", "remove", "--remote", first); o.code != exitInput {
		t.Errorf("removed what the name means: exit code %d", o.code)
	}
	run("circuit", "remove", "--remote", second)
	if o := pinion(t, env, "circuit", "use", second); o.code != exitInput || !strings.HasSuffix(o.stderr, "isn't in the bucket\n") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}

// A circuit that is damaged on the broker: jobs wait for it and say so when their time is over, and go on once it is pushed again.
func TestDamagedCircuitOnTheBroker(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	b.push(t, "multiplier-bn128")
	chunks, err := b.js.Stream(t.Context(), "OBJ_"+queue.BucketCircuits)
	if err != nil {
		t.Fatal(err)
	}
	if err := chunks.Purge(t.Context(), jetstream.WithPurgeSubject("$O."+queue.BucketCircuits+".C.>")); err != nil {
		t.Fatal(err)
	}
	worker, _ := startWorker(t, bare(t, b.url, "new"))
	env := []string{"PINION_NATS=" + b.url}
	input := write(t, "input.json", []byte(`{"a": 3, "b": 5}`))
	o := pinion(t, env, "submit", "multiplier-bn128", "--input", input, "--wait", "--deadline", "4s", "--id", "late")
	if o.code != exitRefused || !strings.Contains(o.stderr, " times: circuit multiplier-bn128 couldn't be fetched (try ") ||
		!strings.Contains(o.stderr, "): circuit multiplier-bn128: circuit.r1cs: queue: circuit is damaged in the bucket: object circuit.multiplier-bn128.") {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	ids := b.many(t, "patient", 3)
	worker.line(t, `"msg":"deferred".*"job":"patient-.*couldn't be fetched`)
	b.push(t, "multiplier-bn128")
	for _, id := range ids {
		if r := b.result(t, id); r.State != queue.Done || r.Attempt != 1 {
			t.Errorf("%s: %s, attempt %d: %v", id, r.State, r.Attempt, r.Err)
		}
	}
	if worker.count(fetched) != 1 || worker.count(`"msg":"circuit not fetched"`) == 0 {
		t.Error("not fetched once, after failures")
	}
}

// What a small worker can never fit waits for a larger one; with small ones only it ends at its deadline, and says what it would take
// and what there was.
func TestMixedFleet(t *testing.T) {
	t.Parallel()
	b := provisioned(t)
	dir := t.TempDir()
	wtns := filepath.Join(dir, "big.wtns")
	env := []string{"PINION_NATS=" + b.url, "PINION_CIRCUITS=" + filepath.Join(dir, "circuits")}
	must(t, pinion(t, env, "circuit", "setup", "--insecure", "big", "--synthetic", "2^13", "--witness", wtns))
	must(t, pinion(t, env, "circuit", "push", "big"))
	submit := func(id string, more ...string) outcome {
		t.Helper()
		return pinion(t, env, append([]string{"submit", "big", "--witness", wtns, "--id", id}, more...)...)
	}
	small := []string{"PINION_MEMORY=4MiB", "PINION_JOBS=1", "PINION_ALLOW_FORGEABLE=big"}
	without, _ := startWorker(t, bare(t, b.url, "without", small...)) // the circuit
	with, _ := startWorker(t, workerEnv(b.url, "with", append(small, env[1])...))
	must(t, submit("waits"))
	o := submit("late", "--wait", "--deadline", "3s")
	if o.code != exitRefused {
		t.Errorf("exit code %d", o.code)
	}
	matches(t, o.stderr, `(.*\n)?pinion: job late: expired: deadline: deadline \S+ passed; handed on \d+ times: needs \S+iB of memory, the worker has 2MiB in all\n`)
	b.deferred(t, "waits")
	if without.count(fetched) != 0 {
		t.Error("downloaded what it can never use")
	}
	if code := with.signal(t, syscall.SIGTERM); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	startWorker(t, bare(t, b.url, "large", "PINION_ALLOW_FORGEABLE=big"))
	if r := b.result(t, "waits"); r.State != queue.Done || r.Worker != "large" || r.Attempt != 1 {
		t.Errorf("%s by %s, attempt %d: %v", r.State, r.Worker, r.Attempt, r.Err)
	}
}

// deferred waits until a job was handed on.
func (b *broker) deferred(t *testing.T, id string) {
	t.Helper()
	eventually(t, "job "+id+" was handed on", func() bool {
		st, err := b.client.Status(t.Context(), id)
		return err == nil && st.Deferrals > 0
	})
}

package queue

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// Hostile messages on the subjects of jobs, between the jobs of honest producers on the same worker.
func TestQ17HostileMessagesAmongJobs(t *testing.T) {
	if !alone(t) {
		return
	}
	b := startBroker(t)
	c := b.client()
	before := memory()

	b.startWorker(proves, func(cfg *WorkerConfig) { cfg.Jobs = 2 })
	lanes := []Priority{High, Normal, Low}
	headers := nats.Header{
		HeaderReplyTo: {"$JS.API.STREAM.DELETE.PINION_JOBS"}, "traceparent": {strings.Repeat("f", 8_000)}, "tracestate": {"\x00"},
	}
	corpus := slices.DeleteFunc(hostileJobs(), func(h hostileJob) bool { return len(h.data) > MaxJobBytes }) // the broker refuses those
	for i, h := range corpus {
		b.submit(c, request(fmt.Sprintf("good-%d", i)))
		b.publishJob(c, lanes[i%3], "merkle", fmt.Sprintf("hostile-%d", i), []byte(h.data), headers)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range 200 { // and what is almost a job
		id := fmt.Sprintf("flipped-%d", i)
		body := encoded(id)
		body[random.IntN(len(body))] ^= 1 << random.IntN(8)
		b.publishJob(c, lanes[i%3], "merkle", id, body, nil)
	}
	for i, h := range corpus {
		if r := b.await(c, fmt.Sprintf("good-%d", i), Done); r.Attempt != 1 {
			t.Errorf("good-%d: attempt %d", i, r.Attempt)
		}
		r := b.await(c, fmt.Sprintf("hostile-%d", i), Failed)
		if r.Err.Code != CodeInvalidJob || !strings.HasSuffix(r.Err.Msg, h.err) {
			t.Errorf("%s: error %q, want %s: %s", h.name, r.Err, CodeInvalidJob, h.err)
		}
	}
	b.awaitEmpty(c.js)
	if grown := memory() - before; grown > 64<<20 {
		t.Errorf("memory has grown by %d bytes", grown)
	}
}

// Bytes where a job's record should be hold up neither the job nor who submits it again.
func TestQ17HostileRecords(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	garble := func(id, data string) {
		if _, err := c.js.Publish(ctx(t), stateSubject(jobKey(id)), []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	records := []string{"", "\xc1", "\x81\xa7history\xc6\xff\xff\xff\xff", strings.Repeat("\x91", 900_000)}
	for i, record := range records {
		id := fmt.Sprint("garbled-", i)
		b.submit(c, request(id))
		garble(id, record)
		if i == 0 {
			b.submit(c, request(id))
			garble(id, record)
		}
	}
	b.startWorker(proves)
	for i := range records {
		id := fmt.Sprint("garbled-", i)
		b.await(c, id, Done)
		if st, err := c.Status(ctx(t), id); err != nil || st.Attempts != 1 {
			t.Errorf("%s: record %+v, %v", id, st, err)
		}
	}
	b.awaitEmpty(c.js)
}

// alone runs the test in a process of its own, where no memory is left of other tests that what is measured could hide in, and reports
// whether this is that process.
func alone(t *testing.T) bool {
	t.Helper()
	const mark = "PINION_TEST_ALONE"
	if os.Getenv(mark) != "" {
		return true
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), mark+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// memory is what the process, broker and producers included, has taken from the system. It never sinks, so that it tells of the most
// that was in use.
func memory() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Sys
}

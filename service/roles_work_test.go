package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/queue"
)

// testLog is a log that remembers.
type testLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *testLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *testLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Each role does all that its work consists of, on a broker with the permissions that are shipped, and the broker refuses none of it.
func TestRolesWork(t *testing.T) {
	url := rolesBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	logged := &testLog{}
	log := slog.New(slog.NewTextHandler(logged, nil))
	connect := func(role string) (*nats.Conn, *queue.Client) {
		nc := roleConn(t, url, role, log)
		client, err := queue.NewClient(ctx, nc, queue.ClientConfig{InlineLimit: 1000})
		if err != nil {
			t.Fatal(role, err)
		}
		return nc, client
	}
	must := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}

	early := roleConn(t, url, producer, log)
	if _, err := NewClient(ctx, early); !errors.Is(err, queue.ErrNotProvisioned) {
		t.Errorf("before anything is provisioned: %v", err)
	}
	js, err := jetstream.New(roleConn(t, url, operator, log))
	must("JetStream", err)
	_, err = queue.Provision(ctx, js, queue.Options{MaxBytes: 32 << 20})
	must("provision", err)
	chosen := queue.Options{MaxBytes: 64 << 20}
	if drift, err := queue.Provision(ctx, js, chosen); err != nil || len(drift) != 1 {
		t.Fatalf("provision again: %v, %v", drift, err)
	}
	if drift, err := queue.Update(ctx, js, chosen); err != nil || len(drift) != 0 {
		t.Fatalf("update: %v, %v", drift, err)
	}
	operatorConn, ops := connect(operator)
	pushExample(ctx, t, ops)

	config, err := LoadConfig(append(roleEnv(t, url, worker), "PINION_HTTP=off", "PINION_DATA="+t.TempDir(), "PINION_WORKER=w", "PINION_MEMORY=2GiB", "PINION_DEVICE=cpu",
		"PINION_REPLY_PREFIXES=pinion.reply."))
	must("configure a worker", err)
	s, err := Start(ctx, config, log)
	must("start a worker", err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.WithoutCancel(ctx)) }()

	_, client := connect(producer)
	inbox, err := client.NewInbox()
	must("inbox", err)
	good := queue.Request{ID: "good", Circuit: "multiplier", Witnesses: []queue.Source{queue.Wtns(exampleWitness(t))}, Reply: inbox.Subject()}
	for i := range 2 {
		sub, err := client.Submit(ctx, good)
		if err != nil || sub.Duplicate != (i == 1) {
			t.Fatalf("submit: %+v, %v", sub, err)
		}
	}
	var last queue.Status
	for last, err = range client.Watch(ctx, "good") {
		must("watch", err)
	}
	if last.State != queue.Done {
		t.Fatalf("watched until %+v", last)
	}
	seen := map[queue.Kind]bool{}
	for !seen[queue.KindResult] {
		reply, err := inbox.Next(ctx)
		must("inbox", err)
		seen[reply.Kind] = true
	}
	if !seen[queue.KindProgress] {
		t.Error("no progress on the reply subject")
	}
	r, err := client.Result(ctx, "good")
	if err != nil || r.State != queue.Done {
		t.Fatalf("result: %+v, %v", r, err)
	}

	elsewhere := good
	elsewhere.ID, elsewhere.Reply = "elsewhere", "_INBOX.elsewhere"
	_, err = client.Submit(ctx, elsewhere)
	must("submit", err)
	if r, err = client.Wait(ctx, "elsewhere"); err != nil || r.Err == nil || r.Err.Code != queue.CodeInvalidReply {
		t.Fatalf("a reply subject that no producer has: %+v, %v", r, err)
	}

	// A large witness, which is no witness: a dead letter, submitted again by an operator.
	progress := make(chan queue.Progress, 100)
	stop, err := client.OnProgress("bad", func(p queue.Progress) { progress <- p })
	must("progress", err)
	defer stop()
	uploaded := int64(0)
	_, err = client.Submit(ctx, queue.Request{
		ID: "bad", Circuit: "multiplier", Witnesses: []queue.Source{queue.Wtns(make([]byte, 3<<20))}, Uploading: func(done, _ int64) { uploaded = done },
	})
	must("submit a large one", err)
	if r, err = client.Wait(ctx, "bad"); err != nil || r.State != queue.Failed || r.Err.Code != "invalid_witness" || uploaded != 3<<20 {
		t.Fatalf("a large one: %+v, %v, %d bytes uploaded", r, err, uploaded)
	}
	select {
	case <-progress:
	case <-ctx.Done():
		t.Error("no progress event")
	}
	letters := ""
	for l, err := range ops.DeadLetters(ctx) {
		must("dead letters", err)
		letters += l.ID + " "
	}
	letter, err := ops.DeadLetter(ctx, "bad")
	if err != nil || letters != "elsewhere bad " || len(letter.Body) == 0 {
		t.Errorf("dead letters %q, %+v, %v", letters, letter, err)
	}
	_, err = ops.Requeue(ctx, "bad", "again")
	must("requeue", err)
	if r, err = client.Wait(ctx, "again"); err != nil || r.Err == nil || r.Err.Code != "invalid_witness" {
		t.Errorf("requeued: %+v, %v", r, err)
	}

	// A job that is cancelled while the fleet is paused.
	must("pause", ops.PauseFleet(ctx, time.Hour))
	if left, err := ops.FleetPaused(ctx); err != nil || left == 0 {
		t.Errorf("paused for %s, %v", left, err)
	}
	_, err = client.Submit(ctx, queue.Request{ID: "late", Circuit: "multiplier", Witnesses: good.Witnesses, Priority: queue.Low})
	must("submit", err)
	must("cancel", client.Cancel(ctx, "late"))
	must("resume", ops.ResumeFleet(ctx))
	if r, err = client.Wait(ctx, "late"); err != nil || r.State != queue.Cancelled {
		t.Errorf("cancelled: %+v, %v", r, err)
	}
	for state(ctx, t, js, queue.StreamJobs).Msgs > 0 { // until the worker has told of the last one's end
		must("wait", pause(ctx, 10*time.Millisecond))
	}

	watching, eyes := connect(observer)
	for role, c := range map[string]*queue.Client{operator: ops, observer: eyes} {
		var jobs []string
		for st, err := range c.Jobs(ctx) {
			must("jobs", err)
			jobs = append(jobs, fmt.Sprint(st.ID, " ", st.State))
		}
		stored, err := c.StoredCircuits(ctx)
		if err != nil || len(stored) != 1 || stored[0].Name != "multiplier" {
			t.Errorf("%s lists the circuits %+v, %v", role, stored, err)
		}
		if got := strings.Join(jobs, ", "); got != "good done, elsewhere failed, bad failed, again failed, late cancelled" {
			t.Errorf("%s lists %s", role, got)
		}
	}
	if st, err := eyes.Status(ctx, "good"); err != nil || st.State != queue.Done {
		t.Errorf("observed: %+v, %v", st, err)
	}
	for last, err = range eyes.Watch(ctx, "good") {
		must("observe", err)
	}
	if r, err = eyes.Wait(ctx, "good"); err != nil || r.State != queue.Done || last.State != queue.Done {
		t.Errorf("observed: %+v, %v, %+v", r, err, last)
	}
	second := roleConn(t, url, worker, log)
	another, err := announce(second, "w2", func() Status { return Status{Worker: "w2"} }, map[string]func(){})
	must("announce", err)
	must("announce", second.Flush())
	for role, nc := range map[string]*nats.Conn{operator: operatorConn, observer: watching} {
		workers, err := AskWorkers(ctx, nc, time.Second)
		if err != nil || len(workers) != 2 || workers[0].Worker != "w" || !workers[0].Ready || workers[1].Worker != "w2" {
			t.Errorf("%s sees the workers %+v, %v", role, workers, err)
		}
		for _, verb := range []string{"PING", "INFO", "STATS"} { // as nats micro does
			var found micro.ServiceIdentity
			answer, err := nc.RequestWithContext(ctx, "$SRV."+verb+".pinion", nil)
			if err == nil {
				err = json.Unmarshal(answer.Data, &found)
			}
			if err != nil || found.Name != "pinion" || found.Metadata["worker"] == "" {
				t.Errorf("%s asks %s: %+v, %v", role, verb, found, err)
			}
		}
	}
	must("no longer announce", another.Stop())
	for _, verb := range Verbs() { // drain is the last
		if now, err := TellWorker(ctx, operatorConn, "w", verb); err != nil || now.Worker != "w" {
			t.Errorf("%s: %+v, %v", verb, now, err)
		}
	}
	must("drain", <-ended)
	for _, text := range []string{"Violation", "refused", "could not be compared", "not deleted", "by digest only"} {
		if strings.Contains(logged.String(), text) {
			t.Errorf("logged:\n%s", logged)
			break
		}
	}
	// What was proven or cancelled left no witness: what is there are two failed ones.
	if left := state(ctx, t, js, "OBJ_"+queue.BucketWitness).Bytes; left < 6<<20 || left > 6<<20+10_000 {
		t.Errorf("%d bytes of witnesses left", left)
	}
}

// state is what a stream holds.
func state(ctx context.Context, t *testing.T, js jetstream.JetStream, stream string) jetstream.StreamState {
	t.Helper()
	s, err := js.Stream(ctx, stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State
}

// pushExample stores the circuit multiplier for workers to fetch.
func pushExample(ctx context.Context, t *testing.T, client *queue.Client) {
	t.Helper()
	dir := t.TempDir()
	catalogue, err := circuit.OpenCatalogue(filepath.Join(dir, "catalogue"))
	if err == nil {
		err = circuits.Extract(dir, "multiplier", "bn128")
	}
	if err == nil {
		_, err = catalogue.Add(ctx, "multiplier", circuit.Files{Zkey: filepath.Join(dir, circuits.Zkey)}, nil)
	}
	if err == nil {
		_, err = PushCircuit(ctx, client, catalogue, circuit.Ref{Name: "multiplier"}, false, func(string, int64, int64) {})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What the broker refuses is told by the call that it was, at once, and not by a timeout.
func TestRefusalIsTold(t *testing.T) {
	url := rolesBroker(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	log := slog.New(slog.DiscardHandler)
	operatorJS, err := jetstream.New(roleConn(t, url, operator, log))
	if err == nil {
		_, err = queue.Provision(ctx, operatorJS, queue.Options{MaxBytes: 1 << 20})
	}
	if err != nil {
		t.Fatal(err)
	}
	clients := map[string]*queue.Client{}
	conns := map[string]*nats.Conn{}
	for role := range inboxes {
		conns[role] = roleConn(t, url, role, log)
		if clients[role], err = queue.NewClient(ctx, conns[role], queue.ClientConfig{InlineLimit: 1}); err != nil {
			t.Fatal(role, err)
		}
	}
	record := queue.CircuitRecord{Name: "c", Digest: strings.Repeat("ab", 32), Curve: "bn254"}
	if err := clients[operator].RegisterCircuit(ctx, record, false); err != nil {
		t.Fatal(err)
	}
	another := record
	another.Name = "d"
	request := queue.Request{ID: "new", Circuit: "c", Witnesses: []queue.Source{queue.Wtns([]byte("wtns"))}}
	known := request
	known.ID = "id"
	if _, err := clients[operator].Submit(ctx, known); err != nil {
		t.Fatal(err)
	}
	const publish, subscribe = "the broker refused: this user may not publish to ", "the broker refused: this user may not subscribe to "
	for name, test := range map[string]struct {
		do   func() error
		want string
	}{
		"an observer submits":     {func() error { _, err := clients[observer].Submit(ctx, request); return err }, publish + "$KV.pinion_state.job.new"},
		"a worker submits":        {func() error { _, err := clients[worker].Submit(ctx, request); return err }, publish + "pinion.job.normal.c.new"},
		"a worker listens":        {func() error { _, err := clients[worker].Wait(ctx, "id"); return err }, subscribe + "pinion.done.id"},
		"an observer cancels":     {func() error { return clients[observer].Cancel(ctx, "id") }, publish + "$KV.pinion_state.job.id"},
		"a worker cancels":        {func() error { return clients[worker].Cancel(ctx, "id") }, publish + "pinion.cancel.id"},
		"a producer lists":        {func() error { return first(clients[producer].Jobs(ctx)) }, publish + "$JS.API.DIRECT.GET.KV_pinion_state"},
		"a producer reads a dead": {func() error { _, err := clients[producer].DeadLetter(ctx, "id"); return err }, publish + "$JS.API.STREAM.INFO.PINION_DEAD"},
		"an observer lists dead":  {func() error { return first(clients[observer].DeadLetters(ctx)) }, publish + "$JS.API.CONSUMER.CREATE.PINION_DEAD."},
		"a producer pauses":       {func() error { return clients[producer].PauseFleet(ctx, time.Hour) }, publish + "$JS.API.CONSUMER.PAUSE.PINION_JOBS.pinion-high"},
		"a producer registers":    {func() error { return clients[producer].RegisterCircuit(ctx, another, false) }, publish + "$O.pinion_circuits.M."},
		"a producer asks workers": {func() error { _, err := AskWorkers(ctx, conns[producer], patience); return err }, publish + "pinion.status"},
		"an observer drains":      {func() error { _, err := TellWorker(ctx, conns[observer], "w", verbDrain); return err }, publish + "pinion.worker.w.drain"},
		"a producer works": {func() error {
			_, err := queue.NewWorker(ctx, conns[producer], queue.WorkerConfig{Handler: &handler{}})
			return err
		}, publish + "$JS.API.CONSUMER.INFO.PINION_JOBS.pinion-high"},
		"a worker provisions": {func() error {
			js, err := jetstream.New(conns[worker])
			if err != nil {
				return err
			}
			_, err = queue.Provision(ctx, js, queue.Options{})
			return err
		}, publish + "$JS.API.STREAM.CREATE.PINION_JOBS"},
		"an inbox that isn't the user's": {func() error {
			_, err := NewClient(ctx, roleConn(t, url, producer, log, "PINION_NATS_INBOX=_INBOX"))
			return err
		}, subscribe + "_INBOX."},
	} {
		err := test.do()
		if !errors.Is(err, nats.ErrPermissionViolation) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
	if ctx.Err() != nil {
		t.Error("it took until the deadline")
	}
}

// first is the error of the first that a sequence yields.
func first[T any](all func(yield func(T, error) bool)) (err error) {
	for _, err = range all {
		break
	}
	return err
}

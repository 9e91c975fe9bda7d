package service

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/pinion-zk/pinion/queue"
)

// The roles of deploy/nats-roles.conf.
const (
	producer = "producer"
	alice    = "alice" // another producer, of the same account
	worker   = "worker"
	operator = "operator"
	observer = "observer"
)

var inboxes = map[string]string{
	producer: "pinion.reply.producer", alice: "pinion.reply.alice",
	worker: "_INBOX.worker", operator: "_INBOX.operator", observer: "_INBOX.observer",
}

// rolesBroker runs a broker with the configuration that is shipped, with one more producer, alice, made as it says, and with a user in
// each of the accounts of producers and observers who may do all that the account may.
func rolesBroker(t *testing.T) (url string) {
	t.Helper()
	shipped, err := os.ReadFile("../deploy/nats-roles.conf")
	if err != nil {
		t.Fatal(err)
	}
	var conf strings.Builder
	for line := range strings.Lines(string(shipped)) {
		conf.WriteString(line)
		for _, role := range []string{producer, observer} {
			if strings.Contains(line, "{user: "+role+",") {
				fmt.Fprintf(&conf, "{user: %s-account, password: secret}\n", role)
			}
		}
		if strings.Contains(line, "{user: producer,") {
			conf.WriteString(strings.ReplaceAll(strings.Replace(line, "$PINION_PRODUCER_PASSWORD", "secret-alice", 1), producer, alice))
		}
	}
	for role := range inboxes {
		t.Setenv("PINION_"+strings.ToUpper(role)+"_PASSWORD", "secret-"+role)
	}
	dir := t.TempDir()
	save(t, filepath.Join(dir, "nats-roles.conf"), []byte(conf.String()))
	save(t, filepath.Join(dir, "nats.conf"), []byte("listen: 127.0.0.1:-1\njetstream {store_dir: \""+filepath.Join(dir, "store")+"\"}\ninclude nats-roles.conf\n"))
	options, err := server.ProcessConfigFile(filepath.Join(dir, "nats.conf"))
	if err != nil {
		t.Fatal(err)
	}
	options.NoLog, options.NoSigs = true, true
	return runBroker(t, options).ClientURL()
}

// roleEnv is the environment of a process with that role.
func roleEnv(t *testing.T, url, role string) []string {
	t.Helper()
	password := filepath.Join(t.TempDir(), "password")
	save(t, password, []byte("secret-"+role+"\n"))
	return []string{"PINION_NATS=" + url, "PINION_NATS_USER=" + role, "PINION_NATS_PASSWORD_FILE=" + password, "PINION_NATS_INBOX=" + inboxes[role]}
}

func roleConn(t *testing.T, url, role string, log *slog.Logger, more ...string) *nats.Conn {
	t.Helper()
	c, err := LoadConfig(append(roleEnv(t, url, role), more...))
	if err != nil {
		t.Fatal(err)
	}
	nc, err := c.Connect(role, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

// What a role may do is what it is listed at, and nothing else.
func TestRolePermissions(t *testing.T) {
	url := rolesBroker(t)
	const stream, none = "$JS.API.STREAM.", ""
	tests := []struct {
		what, op, subject string
		roles             string
	}{
		{"submit a job", "publish", "pinion.job.high.c.id", "producer alice operator"},
		{"cancel a job", "publish", "pinion.cancel.id", "producer alice operator"},
		{"take a job", "publish", "$JS.API.CONSUMER.MSG.NEXT.PINION_JOBS.pinion-high", "worker"},
		{"acknowledge a job", "publish", "$JS.ACK.PINION_JOBS.pinion-high.1.1.1.1.0", "worker"},
		{"acknowledge a job, as brokers to come want it", "publish", "$JS.ACK.hub.acc.PINION_JOBS.pinion-high.1.1.1.1.0", "worker"},
		{"take jobs by a consumer of its own", "publish", "$JS.API.CONSUMER.CREATE.PINION_JOBS.mine", none},
		{"take jobs by a consumer of its own with a filter", "publish", "$JS.API.CONSUMER.CREATE.PINION_JOBS.mine.pinion.job.high.*.*", none},
		{"take jobs by a nameless consumer", "publish", "$JS.API.CONSUMER.CREATE.PINION_JOBS", none},
		{"read a queued job", "publish", stream + "MSG.GET.PINION_JOBS", none},
		{"read a queued job directly", "publish", "$JS.API.DIRECT.GET.PINION_JOBS", none},
		{"read a queued job by its subject", "publish", "$JS.API.DIRECT.GET.PINION_JOBS.pinion.job.high.c.id", none},
		{"see jobs on their way", "subscribe", "pinion.job.>", none},
		{"see one job on its way", "subscribe", "pinion.job.high.c.id", none},
		{"read a dead letter", "publish", stream + "MSG.GET.PINION_DEAD", "operator"},
		{"read a dead letter directly", "publish", "$JS.API.DIRECT.GET.PINION_DEAD.pinion.dead.id", none},
		{"read dead letters by a consumer", "publish", "$JS.API.CONSUMER.CREATE.PINION_DEAD.x.pinion.dead.*", "operator"},
		{"see dead letters on their way", "subscribe", "pinion.dead.*", none},
		{"write a dead letter", "publish", "pinion.dead.id", "worker"},
		{"upload a witness", "publish", "$O.pinion_witness.C.id", "producer alice worker operator"}, // workers delete it so
		{"read uploaded witnesses", "publish", "$JS.API.DIRECT.GET.OBJ_pinion_witness", "worker operator"},
		{"read a chunk of a witness", "publish", "$JS.API.DIRECT.GET.OBJ_pinion_witness.$O.pinion_witness.C.id", none},
		{"read uploaded witnesses by a consumer", "publish", "$JS.API.CONSUMER.CREATE.OBJ_pinion_witness.x", none},
		{"see witnesses on their way", "subscribe", "$O.pinion_witness.>", none},
		{"store a result", "publish", "pinion.result.id", "worker"},
		{"tell that a result is stored", "publish", "pinion.done.id", none},
		{"read a result", "publish", "$JS.API.DIRECT.GET.PINION_RESULTS.pinion.result.id", "producer alice worker operator observer"},
		{"read all results at once", "publish", "$JS.API.DIRECT.GET.PINION_RESULTS", none},
		{"see results", "subscribe", "pinion.done.*", "producer alice operator observer"},
		{"tell of progress", "publish", "pinion.progress.id", "worker"},
		{"see progress", "subscribe", "pinion.progress.*", "producer alice operator observer"},
		{"make a job's record", "publish", "$KV.pinion_state.job.id", "producer alice worker operator"},
		{"read a job's record", "publish", "$JS.API.DIRECT.GET.KV_pinion_state.$KV.pinion_state.job.id", "producer alice worker operator observer"},
		{"list jobs", "publish", "$JS.API.DIRECT.GET.KV_pinion_state", "operator observer"},
		{"take a lease", "publish", "$KV.pinion_state.lease.id", "worker"},
		{"look a circuit up", "publish", "$JS.API.DIRECT.GET.OBJ_pinion_circuits.$O.pinion_circuits.M.id", "producer alice worker operator observer"},
		{"read a circuit", "publish", "$JS.API.DIRECT.GET.OBJ_pinion_circuits", "worker operator observer"},
		{"register a circuit", "publish", "$O.pinion_circuits.M.id", "operator"},
		{"store a circuit", "publish", "$O.pinion_circuits.C.id", "operator"},
		{"ask for the workers", "publish", "pinion.status", "operator observer"},
		{"find services", "publish", "$SRV.PING.pinion", "operator observer"},
		{"tell a worker", "publish", "pinion.worker.w.drain", "operator"},
		{"answer as a worker", "subscribe", "pinion.status", "worker"},
		{"be found as a service", "subscribe", "$SRV.PING.pinion.id", "worker"},
		{"hear cancellations", "subscribe", "pinion.cancel.*", "worker"},
		{"pause the fleet", "publish", "$JS.API.CONSUMER.PAUSE.PINION_JOBS.pinion-high", "operator"},
		{"look at a consumer", "publish", "$JS.API.CONSUMER.INFO.PINION_JOBS.pinion-high", "worker operator"},
		{"delete a consumer", "publish", "$JS.API.CONSUMER.DELETE.PINION_JOBS.pinion-high", none},
		{"look at a stream", "publish", stream + "INFO.PINION_JOBS", "worker operator"},
		{"create a stream", "publish", stream + "CREATE.PINION_JOBS", "operator"},
		{"create any other stream", "publish", stream + "CREATE.MINE", none},
		{"change a stream", "publish", stream + "UPDATE.PINION_JOBS", "operator"},
		{"change any other stream", "publish", stream + "UPDATE.MINE", none},
		{"purge a stream", "publish", stream + "PURGE.OBJ_pinion_witness", none},
		{"delete a stream", "publish", stream + "DELETE.PINION_JOBS", none},
		{"delete a message", "publish", stream + "MSG.DELETE.PINION_RESULTS", none},
		{"make a snapshot", "publish", stream + "SNAPSHOT.PINION_JOBS", none},
		{"list streams", "publish", stream + "LIST", none},
		{"look at the account", "publish", "$JS.API.INFO", none},
		{"ask the system", "publish", "$SYS.REQ.SERVER.PING", none},
		{"hear the system", "subscribe", "$SYS.>", none},
		{"send replies to a producer", "publish", "pinion.reply.alice.x", "worker"},
		{"send answers to an operator", "publish", "_INBOX.operator.x", none},
		{"hear a producer's replies", "subscribe", "pinion.reply.producer.>", "producer"},
		{"hear all producers' replies", "subscribe", "pinion.reply.>", none},
		{"hear an operator's answers", "subscribe", "_INBOX.operator.>", "operator"},
		{"hear a worker's answers", "subscribe", "_INBOX.worker.>", "worker"},
		{"hear all answers", "subscribe", "_INBOX.>", none},
		{"hear all of pinion", "subscribe", "pinion.>", none},
		{"hear everything", "subscribe", ">", none},
	}
	for role := range inboxes {
		t.Run(role, func(t *testing.T) {
			nc := roleConn(t, url, role, slog.New(slog.DiscardHandler))
			violations := make(chan error, 1)
			nc.SetErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { violations <- err })
			for _, test := range tests {
				err := attempt(t, nc, test.op, test.subject, violations)
				allowed := slices.Contains(strings.Fields(test.roles), role)
				if !allowed && !errors.Is(err, nats.ErrPermissionViolation) {
					t.Errorf("may %s: %s to %s: %v", test.what, test.op, test.subject, err)
				}
				if allowed && err != nil {
					t.Errorf("may not %s: %s to %s: %v", test.what, test.op, test.subject, err)
				}
			}
		})
	}
}

// attempt does it, and returns what the broker says against it.
func attempt(t *testing.T, nc *nats.Conn, op, subject string, violations <-chan error) error {
	t.Helper()
	before := nc.LastError()
	if op == "publish" {
		if err := nc.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
	} else {
		sub, err := nc.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = sub.Unsubscribe() }()
	}
	if err := nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	if nc.LastError() == before { // the broker has answered, and had nothing to say
		return nil
	}
	select {
	case err := <-violations:
		if !strings.Contains(err.Error(), `"`+subject+`"`) {
			t.Fatalf("%s: %v", subject, err)
		}
		return err
	case <-time.After(patience):
		t.Fatalf("%s: %v, but the error handler isn't told", subject, nc.LastError())
		return nil
	}
}

// A broker answers wherever a request asks it to, with its own rights. In the account of the streams that could store a result or delete
// a stream; those who aren't trusted to that have accounts of their own, where the answer stays.
func TestRolesGetAnswersInTheirOwnAccount(t *testing.T) {
	url := rolesBroker(t)
	log := slog.New(slog.DiscardHandler)
	ours := roleConn(t, url, operator, log)
	js, err := jetstream.New(ours)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := queue.Provision(t.Context(), js, queue.Options{MaxBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if _, err := js.Publish(t.Context(), "$KV.pinion_state.job.x", []byte("a forged result")); err != nil {
		t.Fatal(err)
	}
	for role, requests := range map[string][]string{
		producer: {
			"$JS.API.DIRECT.GET.KV_pinion_state.$KV.pinion_state.job.x", // answered with what a producer may have written
			"$KV.pinion_state.job.y",                                    // answered with an acknowledgement
		},
		observer: {"$JS.API.DIRECT.GET.KV_pinion_state.$KV.pinion_state.job.x"},
	} {
		nc := roleConn(t, url, role, log)
		account, err := nats.Connect(url, nats.UserInfo(role+"-account", "secret"))
		if err != nil {
			t.Fatal(err)
		}
		defer account.Close()
		for _, request := range requests {
			for _, reply := range []string{"pinion.result.victim", "$JS.API.STREAM.DELETE.PINION_RESULTS", "$JS.API.STREAM.PURGE.KV_pinion_state"} {
				answers, err := account.SubscribeSync(reply)
				if err == nil {
					err = account.Flush()
				}
				if err == nil {
					err = nc.PublishRequest(request, reply, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				if _, err := answers.NextMsg(patience); err != nil {
					t.Errorf("%s: no answer to %s on %s in its account: %v", role, request, reply, err)
				}
				_ = answers.Unsubscribe()
			}
		}
	}
	for name, want := range map[string]uint64{queue.StreamResults: 0, "KV_" + queue.BucketState: 2} {
		s, err := js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		if n := s.CachedInfo().State.Msgs; n != want {
			t.Errorf("%s: %d messages, want %d", name, n, want)
		}
	}
}

// Accounts with streams of their own know nothing of each other.
func TestTenantsAreAccounts(t *testing.T) {
	conf := filepath.Join(t.TempDir(), "nats.conf")
	save(t, conf, []byte("listen: 127.0.0.1:-1\njetstream {store_dir: \""+t.TempDir()+`"}
accounts {
  one {jetstream: enabled, users: [{user: one, password: secret}]}
  two {jetstream: enabled, users: [{user: two, password: secret}]}
}`))
	options, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	options.NoLog, options.NoSigs = true, true
	url := runBroker(t, options).ClientURL()
	clients := map[string]*queue.Client{}
	for _, tenant := range []string{"one", "two"} {
		nc, err := nats.Connect(url, nats.UserInfo(tenant, "secret"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		js, err := jetstream.New(nc)
		if err == nil {
			_, err = queue.Provision(t.Context(), js, queue.Options{MaxBytes: 1 << 20})
		}
		if err == nil {
			clients[tenant], err = queue.NewClient(t.Context(), nc, queue.ClientConfig{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	request := queue.Request{ID: "id", Circuit: "c@" + strings.Repeat("ab", 32), Witnesses: []queue.Source{queue.Wtns([]byte("wtns"))}}
	if _, err := clients["one"].Submit(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if _, err := clients["two"].Status(t.Context(), "id"); !errors.Is(err, queue.ErrUnknownJob) {
		t.Errorf("the other tenant asks for the job: %v", err)
	}
	for id := range clients["two"].Jobs(t.Context()) {
		t.Errorf("the other tenant lists %+v", id)
	}
	request.Priority = queue.High // which would be another job under the same id
	if _, err := clients["two"].Submit(t.Context(), request); err != nil {
		t.Errorf("the other tenant's job of the same id: %v", err)
	}
}

package main

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pinion-zk/pinion/examples/circuits"
	"github.com/pinion-zk/pinion/queue"
)

// cluster is three nats-servers, each a process, with a client of the test's own.
type cluster struct {
	*broker
	nodes []*node
}

// node is one server of a cluster, which keeps its address and its store when it is started again.
type node struct {
	name, url, http string
	env             []string
	process         *process
}

// startCluster runs a cluster, provisioned with three replicas of everything.
func startCluster(t *testing.T) *cluster {
	t.Helper()
	const size = 3
	ports := freePorts(t, 3*size)
	c := &cluster{broker: &broker{}}
	var urls, routes []string
	for i := range size {
		client, http, route := "127.0.0.1:"+ports[i], "127.0.0.1:"+ports[size+i], "127.0.0.1:"+ports[2*size+i]
		n := &node{name: fmt.Sprintf("node-%d", i), url: "nats://" + client, http: "http://" + http}
		n.env = []string{"NATS_NAME=" + n.name, "NATS_LISTEN=" + client, "NATS_HTTP=" + http, "NATS_CLUSTER=" + route, "NATS_DATA=" + t.TempDir()}
		c.nodes, urls, routes = append(c.nodes, n), append(urls, n.url), append(routes, "nats://"+route)
	}
	for _, n := range c.nodes {
		n.env = append(n.env, "NATS_ROUTES=["+strings.Join(routes, ", ")+"]")
		n.start(t)
	}
	c.url = strings.Join(urls, ",")
	for _, n := range c.nodes {
		eventually(t, "the cluster has a leader and all its members", func() bool { return n.members(t) == size })
	}
	env := []string{"PINION_NATS=" + c.url, "PINION_ACK_WAIT=" + ackWait.String()}
	must(t, pinion(t, env, "provision", "--replicas", "3"))
	o := pinion(t, env, "provision", "--replicas", "5", "--update")
	if want := "pinion: queue: change stream PINION_JOBS: queue: no place on the broker: 5 replicas, for which the cluster has too few servers with room: "; o.code != exitUnavailable || !strings.HasPrefix(o.stderr, want) {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
	c.bind(t)
	return c
}

// freePorts are ports that nothing listens on, outside the range that outgoing connections have theirs from.
func freePorts(t *testing.T, n int) (ports []string) {
	t.Helper()
	for next := 20_000 + time.Now().Nanosecond()/1000%10_000; len(ports) < n && next < 32_000; next++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", next)); err == nil {
			defer l.Close()
			ports = append(ports, fmt.Sprint(next))
		}
	}
	if len(ports) < n {
		t.Fatalf("%d free ports, want %d", len(ports), n)
	}
	return ports
}

// start runs the server; after it was killed, with its store and at its address.
func (n *node) start(t *testing.T) {
	t.Helper()
	path, err := natsServer()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", filepath.Join("..", "..", "deploy", "nats-cluster.conf"))
	cmd.Env = append(os.Environ(), n.env...)
	n.process = spawn(t, n.name, cmd)
	n.process.line(t, "Listening for client connections")
}

// members is how many servers the cluster has in this one's eyes; 0 while it has no leader.
func (n *node) members(t *testing.T) int {
	t.Helper()
	_, body := get(t, n.http+"/jsz")
	var info struct {
		Meta struct {
			Leader string `json:"leader"`
			Size   int    `json:"cluster_size"`
		} `json:"meta_cluster"`
	}
	if err := json.Unmarshal([]byte(body), &info); err != nil {
		t.Fatal(err)
	}
	if info.Meta.Leader == "" {
		return 0
	}
	return info.Meta.Size
}

// current waits until the server has caught up with all that it has copies of.
func (n *node) current(t *testing.T) {
	t.Helper()
	eventually(t, n.name+" has caught up", func() bool {
		code, _ := get(t, n.http+"/healthz")
		return code == http.StatusOK
	})
}

// serving is the node that a worker is connected to.
func (c *cluster) serving(t *testing.T, worker *process) *node {
	t.Helper()
	url := worker.line(t, `"worker ready".*"broker":"([^"]+)"`)[1]
	for _, n := range c.nodes {
		if n.url == url {
			return n
		}
	}
	t.Fatalf("%s isn't connected to any node but to %s", worker.name, url)
	return nil
}

// stepDown makes all leaders of streams and consumers give up their office once.
func (c *cluster) stepDown() {
	for _, s := range []string{queue.StreamJobs, queue.StreamResults, queue.StreamDead, "KV_" + queue.BucketState, "OBJ_" + queue.BucketWitness} {
		_, _ = c.nc.Request("$JS.API.STREAM.LEADER.STEPDOWN."+s, nil, time.Second) // it may have none
	}
	for _, p := range queue.Priorities() {
		_, _ = c.nc.Request("$JS.API.CONSUMER.LEADER.STEPDOWN."+queue.StreamJobs+"."+p.Consumer(), nil, time.Second)
	}
}

// stepDownEachSecond does so until the test ends, or stop is called.
func (c *cluster) stepDownEachSecond(t *testing.T) (stop func()) {
	t.Helper()
	var running sync.WaitGroup
	over := make(chan struct{})
	running.Go(func() {
		each := time.NewTicker(time.Second)
		defer each.Stop()
		for {
			select {
			case <-each.C:
				c.stepDown()
			case <-over:
				return
			}
		}
	})
	stop = sync.OnceFunc(func() {
		close(over)
		running.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// A cluster whose leaders all step down each second, and which loses a node and gets it back, in the middle of the jobs: none is lost, none
// is proven into two results, none fails, and the workers come back by themselves.
func TestCluster(t *testing.T) {
	t.Parallel()
	c := startCluster(t)
	first, web1 := startWorker(t, workerEnv(c.url, "first"))
	_, web2 := startWorker(t, workerEnv(c.url, "second"))
	if strings.Contains(first.text(), "differs from the contract") {
		t.Error("three replicas are called a drift")
	}
	stop := c.stepDownEachSecond(t)
	all := c.prove(t, "whole")
	victims := []*node{c.serving(t, first)}
	if allVictims {
		victims = c.nodes
	}
	for _, victim := range victims {
		victim.process.signal(t, syscall.SIGKILL)
		all += c.prove(t, "without-"+victim.name)
		victim.start(t)
		all += c.prove(t, "with-"+victim.name)
		victim.current(t)
	}
	stop()
	c.settled(t, uint64(all))
	for _, web := range []string{web1, web2} {
		eventually(t, "the worker is ready", func() bool {
			code, _ := get(t, web+"/readyz")
			return code == http.StatusOK
		})
	}
}

// prove submits jobs one after the other, every fifth with an uploaded witness, while what happens to the cluster happens, and checks
// their proofs. It returns how many there were.
func (c *cluster) prove(t *testing.T, name string) int {
	t.Helper()
	upload, err := queue.NewClient(t.Context(), c.nc, queue.ClientConfig{InlineLimit: 1})
	if err != nil {
		t.Fatal(err)
	}
	request := queue.Request{
		Circuit:   "multiplier-bn128@" + digest(t, catalogue, "multiplier-bn128"),
		Witnesses: []queue.Source{queue.Wtns(read(t, exampleFile("multiplier", "bn128", circuits.Witness)))},
	}
	pace := time.NewTicker(100 * time.Millisecond)
	defer pace.Stop()
	for i := range clusterJobs {
		client := c.client
		if i%5 == 0 {
			client = upload
		}
		request.ID = fmt.Sprintf("%s-%d", name, i)
		eventually(t, "job "+request.ID+" is submitted", func() bool {
			_, err := client.Submit(t.Context(), request)
			if err != nil {
				t.Log("once more: ", err)
			}
			return err == nil
		})
		<-pace.C
	}
	for i := range clusterJobs {
		verified(t, c.result(t, fmt.Sprintf("%s-%d", name, i)), "multiplier", "bn128")
	}
	return clusterJobs
}

// The dead letter is there before the job goes, on a cluster whose leaders change between the two.
func TestQ02DeadLetterOnACluster(t *testing.T) {
	t.Parallel()
	const id = "lost"
	c := startCluster(t)
	p := startProxy(t, c.nodes[0].url, sending(queue.DeadSubject(id), last))
	first, _ := startWorker(t, workerEnv(p.url, "first"))
	s, err := c.client.Submit(t.Context(), queue.Request{
		ID: id, Circuit: "multiplier-bn128@" + digest(t, catalogue, "multiplier-bn128"), Witnesses: []queue.Source{queue.Inputs([]byte(`{"a": 3}`))},
	})
	if err != nil {
		t.Fatal(err)
	}
	<-p.held
	eventually(t, "the dead letter is stored", func() bool { return c.messages(t, queue.StreamDead) == 1 })
	c.stepDown()
	if n := c.messages(t, queue.StreamJobs); n != 1 || c.stored(t, id) != nil {
		t.Errorf("%d jobs queued, want the one; result %v, want none yet", n, c.stored(t, id))
	}
	first.signal(t, syscall.SIGKILL)
	startWorker(t, workerEnv(c.url, "second"))
	if r := c.result(t, id); r.State != queue.Failed || r.Err.Code != "invalid_inputs" || r.Worker != "second" {
		t.Errorf("result %+v", r)
	}
	eventually(t, "no job is queued", func() bool { return c.messages(t, queue.StreamJobs) == 0 })
	if n := c.messages(t, queue.StreamResults); n != 1 {
		t.Errorf("%d results", n)
	}
	letter, err := c.client.DeadLetter(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if sha256.Sum256(letter.Body) != s.Job || letter.Code != "invalid_inputs" {
		t.Errorf("dead letter %+v", letter)
	}
}

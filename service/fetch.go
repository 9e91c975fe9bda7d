package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/pool"
	"github.com/pinion-zk/pinion/queue"
)

// fetcher gets the circuits that jobs want and the catalogue lacks from the bucket, each by a goroutine of its own. It is safe for
// concurrent use.
type fetcher struct {
	client    *queue.Client
	catalogue *circuit.Catalogue
	budget    *pool.Budget
	disk      int64 // room for what is fetched; 0: no limit
	resident  func() []circuit.Ref
	metrics   *metrics
	log       *slog.Logger

	ctx    context.Context // of the downloads
	cancel context.CancelFunc
	group  sync.WaitGroup

	mu      sync.Mutex
	fetches map[circuit.Ref]*fetch // under way, or failed and to be tried again
}

// fetch is one circuit's.
type fetch struct {
	begun    time.Time
	ended    chan struct{}
	err      error     // why the last try failed
	failures int       // in a row
	again    time.Time // when to try again

	stage       string
	done, total int64
}

func newFetcher(client *queue.Client, p *Prover, disk Size, m *metrics, log *slog.Logger) *fetcher {
	f := &fetcher{
		client: client, catalogue: p.Catalogue, budget: p.budget, disk: int64(disk), resident: p.Engine.Resident,
		metrics: m, log: log, fetches: map[circuit.Ref]*fetch{},
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// close ends the downloads.
func (f *fetcher) close() {
	f.cancel()
	f.group.Wait()
}

const (
	// firstWait is how long the job that begins a download waits for its end in the worker's hand: small circuits are there by then.
	firstWait = 2 * time.Second
	// Between tries that fail.
	retryPause, maxRetryPause = time.Second, time.Minute
	// A job stays away for a quarter of the time that its circuit has been loading, within these: so a long download doesn't use up its
	// deferrals, and after a short one it is soon back.
	minLoading, maxLoading = 500 * time.Millisecond, 30 * time.Second
)

// fetch returns nil once the circuit is in the catalogue. While it isn't, the error is a *queue.Defer: the job comes back, and others
// go on meanwhile. ErrUnknownCircuit of the queue if the bucket doesn't have it.
func (f *fetcher) fetch(ctx context.Context, ref circuit.Ref) error {
	files, err := f.client.CircuitFiles(ctx, ref.String())
	switch {
	case errors.Is(err, queue.ErrUnknownCircuit):
		return err
	case err != nil:
		return &queue.Defer{After: handOn, Reason: fmt.Sprintf("circuit %s couldn't be looked up: %v", ref.Name, err)}
	}
	for _, file := range files.Files {
		if total := f.budget.Total(); file.Name == circuit.KeyFile && file.Len > total { // not worth the download
			return tooLarge(file.Len, total)
		}
	}
	job, begun := f.begin(ref)
	if begun != nil {
		wait, cancel := context.WithTimeout(ctx, firstWait)
		defer cancel()
		select {
		case <-begun:
		case <-wait.Done():
		}
	}
	return f.state(ref, job)
}

// begin starts a download, whose end begun tells then, unless one is under way or one that failed has to wait.
func (f *fetcher) begin(ref circuit.Ref) (job *fetch, begun <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	job = f.fetches[ref]
	switch {
	case job == nil:
		job = &fetch{}
		f.fetches[ref] = job
	case job.underWay() || time.Now().Before(job.again):
		return job, nil
	}
	job.begun, job.ended, job.stage = time.Now(), make(chan struct{}), ""
	f.group.Go(func() { f.run(ref, job) })
	return job, job.ended
}

func (j *fetch) underWay() bool {
	select {
	case <-j.ended:
		return false
	default:
		return true
	}
}

func (f *fetcher) run(ref circuit.Ref, job *fetch) {
	err := f.pull(f.ctx, ref, func(stage string, done, total int64) {
		f.mu.Lock()
		defer f.mu.Unlock()
		job.stage, job.done, job.total = stage, done, total
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	defer close(job.ended)
	if job.err = err; err == nil {
		delete(f.fetches, ref)
		return
	}
	job.again = time.Now().Add(min(retryPause<<min(job.failures, 10), maxRetryPause))
	job.failures++
}

// pull fetches a circuit now, unless it is there.
func (f *fetcher) pull(ctx context.Context, ref circuit.Ref, progress circuit.Progress) error {
	begun := time.Now()
	var info *circuit.Info
	pulled := false
	err := f.makeRoom(ctx, ref)
	if err == nil {
		info, pulled, err = PullCircuit(ctx, f.client, f.catalogue, ref, f.room, progress)
	}
	log := f.log.With("circuit", ref.Name, "digest", ref.Digest, "took", time.Since(begun))
	switch {
	case pulled:
		f.metrics.fetch(ctx, "done")
		log.Info("circuit fetched", "bytes", info.Bytes)
	case err != nil && ctx.Err() == nil:
		f.metrics.fetch(ctx, "failed")
		log.Error("circuit not fetched", "error", err)
	}
	return err
}

// makeRoom removes circuits that were fetched before, if this one exceeds the room on the disk.
func (f *fetcher) makeRoom(ctx context.Context, ref circuit.Ref) error {
	if _, err := f.catalogue.Info(ref); err == nil || f.disk == 0 {
		return nil
	}
	files, err := f.client.CircuitFiles(ctx, ref.String())
	if err != nil {
		return err
	}
	inUse := func(r circuit.Ref) bool { return slices.Contains(f.resident(), r) }
	removed, err := f.catalogue.MakeRoom(files.Bytes(), f.disk, inUse)
	for _, r := range removed {
		f.log.Info("circuit removed, to make room for another", "circuit", r.Name, "digest", r.Digest)
	}
	if err != nil {
		return fmt.Errorf("%sFETCHED: %w", Prefix, err)
	}
	return nil
}

// room waits for the memory that checking a circuit takes, as a job does for its own.
func (f *fetcher) room(ctx context.Context, bytes int64) (release func(), err error) {
	r, err := f.budget.Reserve(ctx, bytes)
	if err != nil {
		return nil, err
	}
	return r.Close, nil
}

// state says what the job that wants the circuit is to do.
func (f *fetcher) state(ref circuit.Ref, job *fetch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case job.underWay():
		after := min(max(time.Since(job.begun)/4, minLoading), maxLoading)
		return &queue.Defer{After: after, Reason: fmt.Sprintf("circuit %s is still loading%s", ref.Name, job.progress())}
	case job.err != nil:
		after := max(time.Until(job.again), handOn)
		return &queue.Defer{After: after, Reason: fmt.Sprintf("circuit %s couldn't be fetched (try %d): %v", ref.Name, job.failures, job.err)}
	}
	return nil
}

func (j *fetch) progress() string {
	if j.stage == "" || j.total == 0 {
		return ""
	}
	return fmt.Sprintf(": %s, %d %%", j.stage, 100*j.done/j.total)
}

// loading are the circuits that are being fetched.
func (f *fetcher) loading() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	refs := []string{}
	for ref, job := range f.fetches {
		if job.underWay() {
			refs = append(refs, ref.String())
		}
	}
	return refs
}

// tooLarge hands a job on that this worker can never take.
func tooLarge(need, total int64) *queue.Defer {
	return &queue.Defer{After: handOn, Reason: fmt.Sprintf("needs %s of memory, the worker has %s in all", Size(need), Size(total))}
}

package gpu

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/pinion-zk/pinion/groth16"
)

var (
	// ErrClosed is the end of a task that had not begun when the executor was closed, and of all that come later.
	ErrClosed = errors.New("gpu: executor closed")
	// ErrUnhealthy is the end of a task on a device that has failed for good. Executor.Healthy says how it failed.
	ErrUnhealthy = errors.New("gpu: device unhealthy")
	// ErrInUse refuses a second executor on a device, and to open a card a second time.
	ErrInUse = errors.New("gpu: device in use")
)

// Executor owns a device: its one goroutine, locked to its OS thread, is the only one that calls it.
// The methods are safe for concurrent use.
type Executor struct {
	device   Device
	info     Info
	queue    *queue
	finished chan *flight
	stopped  chan struct{}
	closeErr error // set before stopped is closed
	patience time.Duration
	hang     *time.Timer // runs while the device has something to do

	mu    sync.Mutex // taken after queue.mu, if both
	fault error
	stats Stats

	// Of the executor's goroutine only.
	flights  int
	inputs   int // in flight
	keys     map[Key]*loaded
	watchers sync.WaitGroup
}

// loaded is what the executor knows of a key.
type loaded struct {
	flights int // that use it
	batch   int // inputs that the device computes at once
}

// owned are the devices that have an executor.
var owned sync.Map

// NewExecutor starts an executor on dev, which it owns from now on, with room for queue tasks that wait: at least one.
// It fails with ErrInUse when the device has one already.
func NewExecutor(dev Device, queue int) (*Executor, error) {
	if queue < 1 {
		return nil, fmt.Errorf("gpu: queue of %d tasks, expected 1 or more", queue)
	}
	if _, taken := owned.LoadOrStore(dev, true); taken {
		return nil, ErrInUse
	}
	e := &Executor{
		device:   dev,
		info:     dev.Info(),
		queue:    newQueue(queue),
		finished: make(chan *flight),
		stopped:  make(chan struct{}),
		keys:     make(map[Key]*loaded),
	}
	e.hang = e.newHangTimer()
	go e.work()
	return e, nil
}

// Info describes the device.
func (e *Executor) Info() Info { return e.info }

// Footprint says what a key will take once it is loaded, and what a task of it will.
func (e *Executor) Footprint(pk *groth16.ProvingKey) (Footprint, error) {
	return e.device.Footprint(pk)
}

// Queued is the number of tasks that wait.
func (e *Executor) Queued() int { return e.queue.tasks() }

// Submit puts a task into the queue, and blocks while that is full. Until the task begins, the end of ctx takes it out of the
// queue, and it never starts; later it has no effect. Tasks of one key that wait are computed together, as many as make a batch.
func (e *Executor) Submit(ctx context.Context, t *Task) (*Ticket, error) {
	if len(t.Inputs) == 0 {
		return nil, errors.New("gpu: task without an input")
	}
	if fault := e.Healthy(); fault != nil {
		return nil, unhealthy(fault)
	}
	if err := e.queue.enter(ctx); err != nil {
		return nil, err
	}
	r := &request{ctx: ctx, ticket: newTicket(), task: t}
	if err := e.queue.put(r); err != nil {
		return nil, err
	}
	return r.ticket, nil
}

// Load makes a key ready, after the tasks that were submitted before have begun. The end of ctx prevents a load that has not begun.
func (e *Executor) Load(ctx context.Context, pk *groth16.ProvingKey) (Key, error) {
	var key Key
	err := e.call(&request{ctx: ctx, call: func() (err error) {
		if fault := e.Healthy(); fault != nil {
			return unhealthy(fault)
		}
		footprint, err := e.device.Footprint(pk)
		if err != nil {
			return err
		}
		if key, err = e.device.Load(pk); err == nil {
			e.keys[key] = &loaded{batch: footprint.Batch}
		}
		return err
	}})
	return key, err
}

// Unload gives a key back, after the tasks that were submitted before; it waits for those that use it. The end of ctx prevents an
// unload that has not begun. When the executor is closed, so is every key: ErrClosed.
func (e *Executor) Unload(ctx context.Context, k Key) error {
	return e.call(&request{ctx: ctx, quiet: k, call: func() error {
		if e.keys[k] == nil {
			return errNotLoaded
		}
		delete(e.keys, k)
		return k.Unload()
	}})
}

var errNotLoaded = errors.New("gpu: key is not loaded")

// call runs on the executor's goroutine, in its turn.
func (e *Executor) call(r *request) error {
	r.ticket = newTicket()
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if err := e.queue.put(r); err != nil {
		return err
	}
	_, _, err := r.ticket.Result()
	return err
}

// Healthy is nil, or the fault after which the device takes no more tasks.
func (e *Executor) Healthy() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.fault
}

// Stats are the numbers of now: tasks that failed aren't among them.
func (e *Executor) Stats() Stats {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.stats
}

// Condemn declares the device unhealthy: for a fault that only its user can see, such as wrong proofs. The first fault stays.
func (e *Executor) Condemn(fault error) {
	e.mu.Lock()
	if e.fault == nil {
		e.fault = fault
	}
	e.mu.Unlock()
	e.queue.poke()
}

func unhealthy(fault error) error { return fmt.Errorf("%w: %w", ErrUnhealthy, fault) }

// Close refuses new tasks, fails those that wait with ErrClosed, lets those that have begun finish, unloads every key and closes
// the device. When ctx ends first, Close returns the context's error and the rest goes on; it may be called again to wait.
func (e *Executor) Close(ctx context.Context) error {
	e.queue.close()
	select {
	case <-e.stopped:
		return e.closeErr
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work is the executor's goroutine. Its thread ends with it: what the driver keeps for a thread goes too.
func (e *Executor) work() {
	runtime.LockOSThread()
	defer close(e.stopped)
	for {
		for r := e.next(); r != nil; r = e.next() {
			e.start(r)
		}
		if e.flights == 0 && e.queue.isClosed() {
			break
		}
		select {
		case <-e.queue.wake:
		case f := <-e.finished:
			e.finish(f)
		}
	}
	e.watchers.Wait()
	e.closeErr = e.shutdown()
	owned.Delete(e.device)
}

func (e *Executor) next() []*request { return e.queue.next(e.turn, e.batch) }

// turn says whether the request at the head of the queue may start. While the device works, a task waits until it is a whole batch,
// unless that keeps others waiting; an idle device takes what is there. A task for a device that has failed starts, and ends at once.
func (e *Executor) turn(head *request) turn {
	switch {
	case head.task == nil:
		if k := e.keys[head.quiet]; k != nil && k.flights > 0 {
			return notNow
		}
		return now
	case e.flights == 0 || e.Healthy() != nil:
		return now
	case e.flights < e.info.Overlap:
		return ifFull
	}
	return notNow
}

// batch is how many inputs the device computes at once with a key.
func (e *Executor) batch(k Key) int {
	if known := e.keys[k]; known != nil {
		return known.batch
	}
	return 1 // a task of it ends at once
}

func (e *Executor) start(requests []*request) {
	for _, r := range requests {
		r.ticket.begun.fire()
	}
	if r := requests[0]; r.task == nil {
		r.ticket.end(nil, Timings{}, e.ask(r.call))
		return
	}
	f := newFlight(requests)
	if err := e.begin(f); err != nil {
		f.end(nil, Timings{}, err)
		return
	}
	e.flights++
	e.inputs += len(f.task.Inputs)
	e.alive(0)
	e.keys[f.task.Key].flights++
	e.watchers.Go(func() { e.watch(f) })
}

func (e *Executor) begin(f *flight) error {
	if fault := e.Healthy(); fault != nil {
		return unhealthy(fault)
	}
	if e.keys[f.task.Key] == nil {
		return errNotLoaded
	}
	return e.ask(func() (err error) {
		f.run, err = e.device.Begin(f.task)
		return err
	})
}

// watch follows one flight, so that the executor's goroutine has one channel to wait for.
func (e *Executor) watch(f *flight) {
	select {
	case <-f.run.Uploaded():
		f.uploaded()
		<-f.run.Done()
	case <-f.run.Done():
	}
	f.done = time.Now()
	e.finished <- f
}

func (e *Executor) finish(f *flight) {
	var proofs []*groth16.Proof
	var timings Timings
	err := e.ask(func() (err error) {
		proofs, timings, err = f.run.Result()
		if err == nil && len(proofs) != len(f.task.Inputs) {
			err = fmt.Errorf("%w: %d proofs of %d inputs", ErrFault, len(proofs), len(f.task.Inputs))
		}
		return err
	})
	timings.Batch = len(f.task.Inputs)
	timings.Total = f.done.Sub(f.begun)
	if err == nil {
		e.mu.Lock()
		e.stats.add(timings)
		e.mu.Unlock()
	}
	e.flights--
	e.inputs -= len(f.task.Inputs)
	e.alive(0)
	e.keys[f.task.Key].flights--
	f.end(proofs, timings, err)
}

// ask calls the device, and takes note of a fault.
func (e *Executor) ask(call func() error) error {
	e.alive(1)
	err := guard(call)
	e.alive(0)
	if errors.Is(err, ErrFault) {
		e.Condemn(err)
	}
	return err
}

// shutdown gives everything back.
func (e *Executor) shutdown() error {
	var errs []error
	for k := range e.keys {
		errs = append(errs, e.ask(k.Unload))
	}
	return errors.Join(append(errs, e.ask(e.device.Close))...)
}

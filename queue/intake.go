package queue

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// intake is the loop that asks for jobs and starts them; its fields belong to
// the goroutine of run.
//
// One pull per lane is open at the same time, because asking one lane after
// the other costs an idle worker up to a pull's whole wait. A pull is never
// called off: the broker would send a job to nobody, and it would lie there
// for the ack wait. So a job may arrive that there is no room for; it is
// parked for a moment and then handed back, before anything has begun.
type intake struct {
	w        *Worker
	jobs     *sync.WaitGroup
	lanes    [3]lane
	arrivals chan arrival
	pulls    int       // open, those of connections that are gone too
	parked   []arrival // in the order in which they are to start
	ticket   func()    // room for one job; nil: none
	tickets  chan func()
	asking   bool
	slots    chan struct{}
}

// lane is the state of a priority's pull.
type lane struct {
	open   bool
	opened time.Time
	epoch  int // counts reconnections: a pull of an earlier one is dead
	passed int // jobs of higher lanes started since one of this, while this may have had one
}

// arrival is how a pull ended: with a job, or without.
type arrival struct {
	lane, epoch int
	msg         jetstream.Msg
	at          time.Time
}

const (
	// laneShare bounds starvation: a lane that was passed over so often goes
	// before the higher ones, once. With jobs in all lanes, of ten jobs that a
	// worker takes eight are high, one is normal and one is low.
	laneShare = 8
	// settleTime is how long a pull of a higher lane is given to bring a job
	// before one of a lower lane starts: an older pull would have brought it.
	// Likewise for a lane whose turn it is.
	settleTime = 20 * time.Millisecond
	// parkTime is how long a job waits for room.
	parkTime = 20 * time.Millisecond
	// pullPause follows a pull that failed.
	pullPause = 250 * time.Millisecond
)

func newIntake(w *Worker, jobs *sync.WaitGroup) *intake {
	return &intake{w: w, jobs: jobs, arrivals: make(chan arrival), tickets: make(chan func()), slots: make(chan struct{}, w.cfg.Jobs)}
}

// run takes jobs until ctx ends, or the connection: that is an error.
func (in *intake) run(ctx context.Context) error {
	status := in.w.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer in.w.nc.RemoveStatusListener(status)
	for ctx.Err() == nil && !in.w.nc.IsClosed() {
		in.checkFitness()
		in.dispatch(ctx)
		in.ask(ctx)
		in.pull(ctx)
		select {
		case in.ticket = <-in.tickets:
			in.asking = false
		case a := <-in.arrivals:
			in.arrived(a)
		case <-status:
			in.reconnected()
		case <-in.wake():
		case <-ctx.Done():
		}
	}
	if in.w.nc.IsClosed() {
		return fmt.Errorf("queue: worker: %w", nats.ErrConnectionClosed)
	}
	return nil
}

// checkFitness gives the ticket back while the device is sick or the worker is
// paused, so that nothing is pulled, and what still arrives is handed back.
func (in *intake) checkFitness() {
	if in.ticket != nil && in.w.unfit() != nil {
		in.ticket()
		in.ticket = nil
	}
}

// ask gets a ticket: a slot, and room for a job's message.
func (in *intake) ask(ctx context.Context) {
	if in.asking || in.ticket != nil {
		return
	}
	in.asking = true
	go func() { in.tickets <- in.w.admit(ctx, in.slots) }()
}

// admit waits for a free slot, a fit worker and the intake allowance; nil if it
// failed. What it returns gives slot and allowance back.
func (w *Worker) admit(ctx context.Context, slots chan struct{}) func() {
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	if w.unfit() == nil { // else Ready says what is wrong
		release, err := w.cfg.Intake(ctx)
		if err == nil {
			return func() {
				release()
				<-slots
			}
		}
		if ctx.Err() == nil {
			w.cfg.Log.Warn("no room for a job", "error", err)
		}
	}
	<-slots
	pause(ctx, pullPause)
	return nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// pull opens the pulls that are missing, once there is room for a job.
func (in *intake) pull(ctx context.Context) {
	if in.ticket == nil {
		return
	}
	for i := range in.lanes {
		if l := &in.lanes[i]; !l.open {
			l.open, l.opened = true, time.Now()
			in.pulls++
			go func(epoch int) { in.arrivals <- in.w.fetch(ctx, i, epoch) }(l.epoch)
		}
	}
}

// fetch asks a lane for one job and waits until the broker ends the pull.
func (w *Worker) fetch(ctx context.Context, lane, epoch int) arrival {
	a := arrival{lane: lane, epoch: epoch}
	start := time.Now()
	batch, err := w.lanes[lane].Fetch(1, jetstream.FetchMaxWait(w.pullWait))
	if err == nil {
		a.msg = <-batch.Messages()
		err = batch.Error()
	}
	if a.msg == nil && err == nil && time.Since(start) > w.pullWait+deafTime {
		err = errors.New("the broker doesn't answer pulls")
	}
	a.at = time.Now()
	w.setHealth(lane, err)
	if err != nil && ctx.Err() == nil {
		w.cfg.Log.Warn("pull failed", "consumer", Priorities()[lane].Consumer(), "error", err)
		pause(ctx, pullPause)
	}
	return a
}

// deafTime is a little less than what the client library adds to a pull's
// wait before it ends the pull without a word from the broker.
const deafTime = 900 * time.Millisecond

func (in *intake) arrived(a arrival) {
	in.pulls--
	if l := &in.lanes[a.lane]; l.epoch == a.epoch {
		l.open = false
	}
	if a.msg == nil {
		in.lanes[a.lane].passed = 0 // nothing waits there, or nothing can come
		return
	}
	in.parked = append(in.parked, a)
}

// sort puts what is parked into the order of this turn.
func (in *intake) sort() {
	slices.SortStableFunc(in.parked, func(a, b arrival) int {
		switch {
		case in.before(a.lane, b.lane):
			return -1
		case in.before(b.lane, a.lane):
			return 1
		}
		return 0
	})
}

// before reports that in this turn lane i goes before lane j: because it is
// higher, or because it was passed over so often that it is its turn.
func (in *intake) before(i, j int) bool {
	iTurn, jTurn := in.lanes[i].passed >= laneShare, in.lanes[j].passed >= laneShare
	if iTurn != jTurn {
		return iTurn
	}
	return i < j
}

// started counts, for the lanes below the one that a job was started of, that
// they were passed over; those that are known to be empty weren't.
func (in *intake) started(lane int) {
	in.lanes[lane].passed = 0
	for i := lane + 1; i < len(in.lanes); i++ {
		if l := &in.lanes[i]; !l.open || time.Since(l.opened) < in.w.settle {
			l.passed++
		}
	}
}

// dispatch starts a parked job, or hands back those that found no room.
func (in *intake) dispatch(ctx context.Context) {
	in.sort()
	if len(in.parked) > 0 && in.ticket != nil && in.settled(in.parked[0]) {
		a, release := in.parked[0], in.ticket
		in.parked, in.ticket = in.parked[1:], nil
		in.started(a.lane)
		in.w.counts.inHand.Add(1)
		in.jobs.Go(func() {
			defer release()
			defer in.w.counts.inHand.Add(-1)
			in.w.handle(context.WithoutCancel(ctx), a.msg, a.at)
		})
	}
	in.parked = slices.DeleteFunc(in.parked, func(a arrival) bool {
		late := in.ticket == nil && time.Since(a.at) >= parkTime
		if late {
			in.w.handBack(a.msg)
		}
		return late
	})
}

// settled reports that no job can be expected that goes before a: each pull of
// such a lane is open and was given the time to bring one.
func (in *intake) settled(a arrival) bool {
	for i, l := range in.lanes {
		if in.before(i, a.lane) && !l.open {
			return false
		}
	}
	return time.Until(in.settles(a)) <= 0
}

// settles is when the youngest pull of the lanes before a's had its time.
func (in *intake) settles(a arrival) time.Time {
	var at time.Time
	for i, l := range in.lanes {
		if t := l.opened.Add(in.w.settle); in.before(i, a.lane) && t.After(at) {
			at = t
		}
	}
	return at
}

// wake fires when a parked job's time has come, or is over.
func (in *intake) wake() <-chan time.Time {
	if len(in.parked) == 0 {
		return nil
	}
	a := in.parked[0]
	if in.ticket != nil {
		return time.After(time.Until(in.settles(a)))
	}
	return time.After(time.Until(a.at.Add(parkTime)))
}

// reconnected forgets the pulls of the connection before: the broker has.
// Should one bring a job all the same, it is taken.
func (in *intake) reconnected() {
	for i := range in.lanes {
		in.lanes[i].open = false
		in.lanes[i].epoch++
	}
}

// close, after run, waits for the open pulls and hands back what they bring,
// and what is parked.
func (in *intake) close() {
	for _, a := range in.parked {
		in.w.handBack(a.msg)
	}
	if in.asking {
		in.ticket = <-in.tickets
	}
	if in.ticket != nil {
		in.ticket()
	}
	for ; in.pulls > 0; in.pulls-- {
		if a := <-in.arrivals; a.msg != nil {
			in.w.handBack(a.msg)
		}
	}
}

// handBack returns a job that nothing has been done with.
func (w *Worker) handBack(msg jetstream.Msg) {
	if err := msg.Nak(); err != nil {
		w.cfg.Log.Warn("hand back", "subject", msg.Subject(), "error", fmt.Errorf("queue: nak: %w", err))
	}
}

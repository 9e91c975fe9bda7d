package queue

import (
	"context"
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
// It collects tickets, each of which is room for one job, and keeps a pull
// open in every lane, because asking one lane after the other costs an idle
// worker up to a pull's whole wait. Where the broker says that jobs wait, it
// opens one for each of them, higher lanes first, as long as there are
// tickets for all that was asked for. What arrives is parked and starts in the
// order of the lanes, once there is a ticket for it beside those for what may
// still arrive and goes before it. What finds no ticket for a moment is handed
// back, before anything has begun.
type intake struct {
	w        *Worker
	jobs     *sync.WaitGroup
	room     []func() // tickets; each gives its room back
	tickets  chan func()
	keeper   sync.WaitGroup // of the tickets
	lanes    [3]lane
	arrivals chan *pull
	pulls    int     // whose arrivals are to come, those of connections that are gone too
	parked   []*pull // in the order in which they are to start
}

const (
	// lookAhead bounds the pulls beside the one of each lane, and with them
	// how many jobs of a kind that the last ones gave no idea of are taken.
	lookAhead = 16
	// parkTime is how long a job waits for room.
	parkTime = 20 * time.Millisecond
)

func newIntake(w *Worker, jobs *sync.WaitGroup) *intake {
	return &intake{w: w, jobs: jobs, tickets: make(chan func()), arrivals: make(chan *pull)}
}

// run takes jobs until ctx ends, or the connection: that is an error.
func (in *intake) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	status := in.w.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer in.w.nc.RemoveStatusListener(status)
	in.keeper.Go(func() { in.w.admit(ctx, in.tickets) })
	for ctx.Err() == nil && !in.w.nc.IsClosed() {
		in.trim()
		in.dispatch(ctx)
		in.pull(ctx)
		var tickets chan func()
		if len(in.room) < in.want() {
			tickets = in.tickets
		}
		select {
		case release := <-tickets:
			in.room = append(in.room, release)
		case p := <-in.arrivals:
			in.arrived(p)
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

// pull opens the pulls that are missing: one in each lane of which no job is
// there, and where jobs wait one for each, as long as there is room for all
// that was asked for.
func (in *intake) pull(ctx context.Context) {
	if len(in.room) == 0 {
		return
	}
	for i := range in.lanes {
		if len(in.lanes[i].open) == 0 && !slices.ContainsFunc(in.parked, func(p *pull) bool { return p.lane == i }) {
			in.open(ctx, i, in.w.pullWait)
		}
	}
	for i := range in.lanes {
		for l := &in.lanes[i]; len(l.open) < l.expects(in.w.settle) && in.asked() < len(in.room); {
			in.open(ctx, i, min(moreWait, in.w.pullWait))
		}
	}
}

func (in *intake) open(ctx context.Context, lane int, wait time.Duration) {
	p := &pull{lane: lane, wait: wait, opened: time.Now()}
	in.lanes[lane].open = append(in.lanes[lane].open, p)
	in.pulls++
	go func() {
		in.w.fetch(ctx, p)
		in.arrivals <- p
	}()
}

func (in *intake) arrived(p *pull) {
	in.pulls--
	l := &in.lanes[p.lane]
	l.open = slices.DeleteFunc(l.open, func(o *pull) bool { return o == p })
	if p.msg == nil {
		l.passed, l.waiting = 0, 0 // nothing waits there, or nothing can come
		return
	}
	l.waiting = pending(p.msg)
	in.parked = append(in.parked, p)
}

// sort puts what is parked into the order of this turn.
func (in *intake) sort() {
	slices.SortStableFunc(in.parked, func(a, b *pull) int {
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
		if l := &in.lanes[i]; l.expects(in.w.settle) > 0 {
			l.passed++
		}
	}
}

// dispatch starts the parked jobs whose time has come, and hands back those
// that found no room.
func (in *intake) dispatch(ctx context.Context) {
	for in.sort(); len(in.parked) > 0 && len(in.room) > in.ahead(in.parked[0]); in.sort() {
		p, release := in.parked[0], in.ticket()
		in.parked = in.parked[1:]
		in.started(p.lane)
		in.w.counts.inHand.Add(1)
		in.jobs.Go(func() {
			defer release()
			defer in.w.counts.inHand.Add(-1)
			in.w.handle(context.WithoutCancel(ctx), p.msg, p.ended)
		})
	}
	in.parked = slices.DeleteFunc(in.parked, func(p *pull) bool {
		late := len(in.room) == 0 && time.Since(p.ended) >= parkTime
		if late {
			in.w.handBack(p.msg)
		}
		return late
	})
}

// ahead is how many jobs may still come that go before p.
func (in *intake) ahead(p *pull) (n int) {
	for i := range in.lanes {
		if in.before(i, p.lane) {
			n += in.lanes[i].expects(in.w.settle)
		}
	}
	return n
}

// wake fires when the time of a parked job has come, or is over, and while the
// worker is unfit, to see whether it still is.
func (in *intake) wake() <-chan time.Time {
	var at time.Time
	switch {
	case in.w.unfit() != nil && len(in.parked) == 0:
		return time.After(pullPause)
	case len(in.parked) == 0:
		return nil
	case len(in.room) == 0:
		oldest := slices.MinFunc(in.parked, func(a, b *pull) int { return a.ended.Compare(b.ended) })
		at = oldest.ended.Add(parkTime)
	default:
		for i := range in.lanes {
			if l := &in.lanes[i]; in.before(i, in.parked[0].lane) && l.expects(in.w.settle) > 0 {
				at = l.settles(in.w.settle)
			}
		}
	}
	return time.After(time.Until(at))
}

// reconnected forgets the pulls of the connection before: the broker has.
// Should one bring a job all the same, it is taken.
func (in *intake) reconnected() {
	for i := range in.lanes {
		in.lanes[i].open = nil
	}
}

// close, after run, gives the tickets back, waits for the open pulls and hands
// back what they bring, and what is parked.
func (in *intake) close() {
	in.keeper.Wait()
	for len(in.room) > 0 {
		in.ticket()()
	}
	for _, p := range in.parked {
		in.w.handBack(p.msg)
	}
	for ; in.pulls > 0; in.pulls-- {
		if p := <-in.arrivals; p.msg != nil {
			in.w.handBack(p.msg)
		}
	}
}

// handBack returns a job that nothing has been done with.
func (w *Worker) handBack(msg jetstream.Msg) {
	if err := msg.Nak(); err != nil {
		w.cfg.Log.Warn("hand back", "subject", msg.Subject(), "error", fmt.Errorf("queue: nak: %w", err))
	}
}

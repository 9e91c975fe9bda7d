package queue

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// lane is what a worker knows of the jobs of one priority.
type lane struct {
	open    []*pull // oldest first: the broker answers them in this order
	waiting int     // jobs, as the broker said with the last one
	passed  int     // jobs of higher lanes started since one of this, while this may have had one
}

const (
	// laneShare bounds starvation: a lane that was passed over so often goes
	// before the higher ones, once. With jobs in all lanes, of ten jobs that a
	// worker takes eight are high, one is normal and one is low.
	laneShare = 8
	// settleTime is how long a pull is given to bring a job that waits: one
	// that was open for longer says that none does.
	settleTime = 20 * time.Millisecond
	// moreWait is how long the pulls beside a lane's first wait for the jobs
	// that the broker told of, should other workers have got them.
	moreWait = 100 * time.Millisecond
	// pullPause follows a pull that failed.
	pullPause = 250 * time.Millisecond
)

// expects is how many jobs may come from the lane before long: as many as wait
// there, and at least the one that nobody knows of yet; none once the oldest
// pull has settled.
func (l *lane) expects(settle time.Duration) int {
	if len(l.open) > 0 && time.Since(l.open[0].opened) >= settle {
		return 0
	}
	return max(1, l.waiting)
}

// settles is when expects is none, should no job come until then.
func (l *lane) settles(settle time.Duration) time.Time {
	if len(l.open) == 0 {
		return time.Now().Add(settle)
	}
	return l.open[0].opened.Add(settle)
}

// pull is one question to a lane's consumer for one job, and the answer. It is
// never called off: the broker would send the job to nobody, and it would lie
// there for the ack wait.
type pull struct {
	lane   int
	wait   time.Duration // at most, of the broker
	opened time.Time
	msg    jetstream.Msg // nil: none came
	ended  time.Time
}

// fetch asks and waits until the broker ends the pull.
func (w *Worker) fetch(ctx context.Context, p *pull) {
	guarded, stop := Guard(ctx, w.nc, "$JS.API.CONSUMER.MSG.NEXT."+StreamJobs+"."+Priorities()[p.lane].Consumer())
	defer stop()
	batch, err := w.lanes[p.lane].Fetch(1, jetstream.FetchMaxWait(p.wait))
	if err == nil {
		p.msg = <-batch.Messages()
		err = batch.Error()
	}
	if p.msg == nil && err == nil && time.Since(p.opened) > p.wait+deafTime {
		err = Refusal(guarded, errors.New("the broker doesn't answer pulls"))
	}
	p.ended = time.Now()
	w.setHealth(p.lane, err)
	if err != nil && ctx.Err() == nil {
		w.cfg.Log.Warn("pull failed", "consumer", Priorities()[p.lane].Consumer(), "error", err)
		pause(ctx, pullPause)
	}
}

// deafTime is a little less than what the client library adds to a pull's
// wait before it ends the pull without a word from the broker.
const deafTime = 900 * time.Millisecond

// pending is how many jobs of its lane waited when msg was sent.
func pending(msg jetstream.Msg) int {
	meta, err := msg.Metadata()
	if err != nil {
		return 0
	}
	return int(meta.NumPending)
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

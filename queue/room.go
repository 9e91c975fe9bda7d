package queue

import "context"

// admit hands out tickets until ctx ends: a slot, and the intake allowance.
func (w *Worker) admit(ctx context.Context, tickets chan<- func()) {
	slots := make(chan struct{}, w.cfg.Jobs)
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		release, err := w.cfg.Intake(ctx)
		if err != nil {
			<-slots
			if ctx.Err() == nil {
				w.cfg.Log.Warn("no room for a job", "error", err)
			}
			pause(ctx, pullPause)
			continue
		}
		ticket := func() {
			release()
			<-slots
		}
		select {
		case tickets <- ticket:
		case <-ctx.Done():
			ticket()
		}
	}
}

// want is how many tickets are worth having: none while the device is sick or
// the worker is paused, so that nothing is asked for, and what still arrives
// is handed back.
func (in *intake) want() int {
	if in.w.unfit() != nil { // Ready says what is wrong
		return 0
	}
	expected := 0
	for i := range in.lanes {
		expected += in.lanes[i].expects(in.w.settle)
	}
	return max(in.asked(), len(in.parked)+len(in.lanes)+min(expected, lookAhead))
}

// trim gives back the tickets that aren't worth having any more.
func (in *intake) trim() {
	for want := in.want(); len(in.room) > want; {
		in.ticket()()
	}
}

// ticket takes one of those in hand.
func (in *intake) ticket() (release func()) {
	last := len(in.room) - 1
	release, in.room = in.room[last], in.room[:last]
	return release
}

// asked is how many jobs were asked for that have no ticket yet.
func (in *intake) asked() int {
	n := len(in.parked)
	for i := range in.lanes {
		n += len(in.lanes[i].open)
	}
	return n
}

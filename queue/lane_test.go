package queue

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// fresh and settled are pulls of a lane.
func fresh() *pull   { return &pull{opened: time.Now()} }
func settled() *pull { return &pull{opened: time.Now().Add(-time.Hour)} }

func TestWhatALaneMayBring(t *testing.T) {
	for name, test := range map[string]struct {
		lane lane
		want int
	}{
		"never asked":              {lane{}, 1},
		"jobs wait":                {lane{waiting: 9}, 9},
		"just asked":               {lane{open: []*pull{fresh()}}, 1},
		"just asked, jobs wait":    {lane{open: []*pull{fresh(), fresh()}, waiting: 9}, 9},
		"settled":                  {lane{open: []*pull{settled()}}, 0},
		"the oldest has settled":   {lane{open: []*pull{settled(), fresh()}, waiting: 9}, 0},
		"the oldest was answered":  {lane{open: []*pull{fresh(), settled()}}, 1},
		"not asked, others settle": {lane{passed: 3}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.lane.expects(time.Minute); got != test.want {
				t.Errorf("%d jobs expected, want %d", got, test.want)
			}
		})
	}
}

// A job starts when there is room for it beside those that go before it.
func TestRoomBesideThoseAhead(t *testing.T) {
	const high, normal, low = 0, 1, 2
	quiet, unknown, backlog := lane{open: []*pull{settled()}}, lane{open: []*pull{fresh()}}, lane{open: []*pull{fresh()}, waiting: 500}
	turn := lane{passed: laneShare, open: []*pull{fresh()}}
	for name, test := range map[string]struct {
		lanes [3]lane
		lane  int
		ahead int
	}{
		"the highest":                        {[3]lane{backlog, backlog, backlog}, high, 0},
		"nothing higher":                     {[3]lane{quiet, backlog, backlog}, normal, 0},
		"perhaps one higher":                 {[3]lane{unknown, backlog, backlog}, normal, 1},
		"many higher":                        {[3]lane{backlog, backlog, backlog}, normal, 500},
		"higher ones of both":                {[3]lane{backlog, unknown, unknown}, low, 501},
		"its turn":                           {[3]lane{backlog, turn, backlog}, normal, 0},
		"the turn of a lower one":            {[3]lane{backlog, turn, backlog}, high, 1},
		"its turn, and that of a higher one": {[3]lane{backlog, turn, turn}, low, 1},
	} {
		t.Run(name, func(t *testing.T) {
			in := &intake{w: &Worker{settle: time.Minute}, lanes: test.lanes}
			if got := in.ahead(&pull{lane: test.lane}); got != test.ahead {
				t.Errorf("%d jobs ahead, want %d", got, test.ahead)
			}
		})
	}
}

// A lane is asked for as many jobs as wait there and as there is room for; a
// higher one goes first, and each is asked for one.
func TestPullsForWhatWaits(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	for name, test := range map[string]struct {
		room    int
		waiting [3]int
		open    [3]int
	}{
		"no room":              {0, [3]int{9, 9, 9}, [3]int{0, 0, 0}},
		"room for one":         {1, [3]int{9, 9, 9}, [3]int{1, 1, 1}},
		"nothing known":        {20, [3]int{0, 0, 0}, [3]int{1, 1, 1}},
		"few wait":             {20, [3]int{0, 4, 0}, [3]int{1, 4, 1}},
		"more wait than room":  {12, [3]int{0, 500, 0}, [3]int{1, 10, 1}},
		"high before the rest": {12, [3]int{5, 500, 500}, [3]int{5, 6, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := NewWorker(ctx(t), b.connect(), WorkerConfig{Handler: handlerFunc(proves), Log: quiet})
			if err != nil {
				t.Fatal(err)
			}
			w.pullWait, w.settle = 50*time.Millisecond, time.Hour
			in := newIntake(w, nil)
			for i := range in.lanes {
				in.lanes[i].waiting = test.waiting[i]
			}
			for range test.room {
				in.room = append(in.room, func() {})
			}
			in.pull(ctx(t))
			for i := range in.lanes {
				if got := len(in.lanes[i].open); got != test.open[i] {
					t.Errorf("lane %d: %d pulls, want %d", i, got, test.open[i])
				}
			}
			in.close()
		})
	}
}

// Where there is room for jobs of all lanes, none waits to see what a higher
// lane brings.
func TestRoomForAllNeedsNoSettling(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	b.startWorkerAs(b.connect(), func(w *Worker) { w.settle = time.Hour }, proves, func(cfg *WorkerConfig) { cfg.Jobs = 3 })
	r := request("unhurried")
	r.Priority = Low
	b.submit(c, r)
	b.await(c, r.ID, Done)
}

// A worker takes as many jobs as it has room for and no others, however many
// wait, so that none is handed back.
func TestNoMoreJobsThanRoom(t *testing.T) {
	t.Parallel()
	b := startBroker(t)
	c := b.client()
	const jobs, room = 60, 20
	for i := range jobs {
		b.submit(c, request(fmt.Sprint("waits-", i)))
	}
	begun, finish := make(chan struct{}, jobs), make(chan struct{})
	b.startWorker(func(ctx context.Context, d *Delivery) (*Outcome, error) {
		begun <- struct{}{}
		<-finish
		return proves(ctx, d)
	}, func(cfg *WorkerConfig) { cfg.Jobs = room })
	for range room {
		<-begun
	}
	consumer, err := c.js.Consumer(ctx(t), StreamJobs, Normal.Consumer())
	if err != nil {
		t.Fatal(err)
	}
	if info := consumer.CachedInfo(); info.NumAckPending != room || info.NumPending != jobs-room {
		t.Errorf("%d jobs taken and %d left, want %d and %d", info.NumAckPending, info.NumPending, room, jobs-room)
	}
	close(finish)
	b.awaitEmpty(c.js)
	if info, err := consumer.Info(ctx(t)); err != nil || info.Delivered.Consumer != jobs {
		t.Errorf("%d deliveries of %d jobs, %v", info.Delivered.Consumer, jobs, err)
	}
}

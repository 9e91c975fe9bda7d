package main

import (
	"testing"

	"github.com/pinion-zk/pinion/queue"
)

func TestStanding(t *testing.T) {
	failed := []queue.Attempt{{Attempt: 1, Worker: "v", Error: "first"}, {Attempt: 2, Worker: "w", Error: "device_fault: lost"}}
	for _, test := range []struct {
		status queue.Status
		want   string
	}{
		{queue.Status{Progress: queue.Progress{State: queue.Running, Phase: "device", Attempt: 2, Worker: "w"}}, "device, attempt 2 on w"},
		{queue.Status{Progress: queue.Progress{State: queue.Running, Phase: "witness", Percent: 50, Attempt: 1, Worker: "w"}}, "witness 50 %, attempt 1 on w"},
		{queue.Status{}, "queued; no worker has taken it yet"},
		{queue.Status{Deferred: "needs 80 GiB, this worker has 8 GiB"}, "queued; handed on: needs 80 GiB, this worker has 8 GiB"},
		{queue.Status{History: failed}, "queued again; attempt 2 on w: device_fault: lost"},
	} {
		if got := standing(&test.status); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

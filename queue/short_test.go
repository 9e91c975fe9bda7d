//go:build !soak

package queue

import "time"

// fleetJobs is how many jobs TestFleet queues, fleetPull how long its workers'
// pulls last, and fleetSettle how long one is given to bring a job that
// waits; make soak has more of all.
const (
	fleetJobs   = 300
	fleetPull   = time.Second
	fleetSettle = time.Second / 2
)

//go:build !soak

package queue

import "time"

// fleetJobs is how many jobs TestFleet queues, and fleetSettle how long its
// workers give a pull to bring a job that waits; make soak has more of both.
const (
	fleetJobs   = 300
	fleetSettle = time.Second / 2
)

//go:build soak

package queue

import "time"

// fleetJobs is how many jobs TestFleet queues, fleetPull how long its workers'
// pulls last, and fleetSettle how long one is given to bring a job that
// waits.
const (
	fleetJobs   = 5000
	fleetPull   = 20 * time.Second
	fleetSettle = 2 * time.Second
)

//go:build soak

package queue

import "time"

// fleetJobs is how many jobs TestFleet queues, and fleetSettle how long its
// workers give a pull to bring a job that waits.
const (
	fleetJobs   = 5000
	fleetSettle = 2 * time.Second
)

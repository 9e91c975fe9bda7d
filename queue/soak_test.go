//go:build soak

package queue

// fleetJobs is how many jobs TestFleet queues.
const fleetJobs = 5000

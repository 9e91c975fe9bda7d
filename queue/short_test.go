//go:build !soak

package queue

// fleetJobs is how many jobs TestFleet queues; make soak queues more.
const fleetJobs = 300

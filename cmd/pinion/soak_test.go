//go:build soak

package main

// TestCluster proves so many jobs in each of its phases, and kills each node in turn.
const (
	clusterJobs = 150
	allVictims  = true
)

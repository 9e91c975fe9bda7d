//go:build !soak

package main

// TestCluster proves so many jobs in each of its phases, and kills one node; make soak has more of both.
const (
	clusterJobs = 15
	allVictims  = false
)

//go:build !race || soak

package main

const raceDetector = false

package service

import (
	"fmt"
	"strconv"

	"github.com/pinion-zk/pinion/gpu"
)

// Jobs is a number of jobs in hand. Zero stands for auto.
type Jobs int

const (
	mostJobs = 256
	// intakeBytes is what a job's message takes: the message itself and its decoded copy.
	intakeBytes = 2 << 20
	// intakeShare is the part of the memory that messages may take where the number of jobs is automatic.
	intakeShare = 16
)

// UnmarshalText takes auto, or a number from 1 to 256.
func (j *Jobs) UnmarshalText(text []byte) error {
	if string(text) == "auto" {
		*j = 0
		return nil
	}
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > mostJobs {
		return fmt.Errorf("%q is no number of jobs", text)
	}
	*j = Jobs(n)
	return nil
}

// limits are the most jobs that may be in hand, and the tasks of the device that they may make up: those that it holds, and one that is
// made ready. A CPU proves one witness after the other, so that more jobs than tasks are of no use to it.
func (j Jobs) limits(device gpu.Info, memory int64) (jobs, tasks int) {
	tasks = device.Overlap + 1
	switch {
	case j > 0:
		return int(j), int(j)
	case device.Kind == gpu.CPU:
		return tasks, tasks
	}
	return int(max(int64(tasks), min(mostJobs, memory/intakeShare/intakeBytes))), tasks
}

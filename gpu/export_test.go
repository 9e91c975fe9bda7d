package gpu

// For the tests in package gpu_test, which use packages that import this one.

type Failure = failure

const (
	FailAllocation = failAllocation
	FailLaunch     = failLaunch
	FailSticky     = failSticky
	FlipNTT        = flipNTT
	FlipMSM        = flipMSM
)

var (
	CardLibrary = cardLibrary
	Arm         = arm
	Counted     = counted
)

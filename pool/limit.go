package pool

// HostLimit is the host memory that this process may still take: the smaller of the cgroup's limit less its usage and the memory
// that the machine has available, less the margin that is left to everything else.
func HostLimit(margin int64) (int64, error) { panic("soon") }

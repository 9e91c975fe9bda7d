//go:build unix && !linux

package pool

// advise does nothing: these systems choose the size of pages themselves, and dump no cores unless asked to.
func advise([]byte) error { return nil }

func fault(mem []byte) error {
	touch(mem)
	return nil
}

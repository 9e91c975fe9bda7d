package circuit

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// MakeRoom removes circuits that were received, those first that were opened the longest ago, until the others take at most limit bytes
// on the disk together with need more. One that inUse tells of stays. Other processes may have one open all the same: that one's bytes
// are free once it is closed. The error says by how much limit is exceeded if nothing more can go.
func (c *Catalogue) MakeRoom(need, limit int64, inUse func(Ref) bool) (removed []Ref, err error) {
	folders, err := c.receivedFolders()
	if err != nil {
		return nil, err
	}
	total := need
	for _, f := range folders {
		total += f.bytes
	}
	slices.SortFunc(folders, func(a, b folder) int { return cmp.Compare(a.used, b.used) })
	for _, f := range folders {
		if total <= limit {
			return removed, nil
		}
		if inUse(f.ref) {
			continue
		}
		switch err := c.discard(f.ref.String()); {
		case err == nil:
			removed = append(removed, f.ref)
		case !errors.Is(err, ErrUnknownCircuit): // another was quicker
			return removed, err
		}
		total -= f.bytes
	}
	if total > limit {
		return removed, fmt.Errorf("circuits that are in use and %d bytes more take %d bytes on the disk, expected at most %d", need, total, limit)
	}
	return removed, nil
}

// folder is that of a circuit that was received.
type folder struct {
	ref   Ref
	bytes int64
	used  int64 // when it was opened last
}

func (c *Catalogue) receivedFolders() ([]folder, error) {
	refs, err := c.refs()
	if err != nil {
		return nil, err
	}
	var folders []folder
	for _, ref := range refs {
		if ref.Digest.IsZero() {
			continue
		}
		f, err := c.measure(ref)
		if errors.Is(err, os.ErrNotExist) {
			continue // removed meanwhile
		} else if err != nil {
			return nil, fmt.Errorf("catalogue: %w", err)
		}
		folders = append(folders, f)
	}
	return folders, nil
}

func (c *Catalogue) measure(ref Ref) (folder, error) {
	dir := c.path(ref.String())
	stat, err := os.Stat(dir)
	if err != nil {
		return folder{}, err
	}
	f := folder{ref: ref, used: stat.ModTime().UnixNano()}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return folder{}, err
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return folder{}, err
		}
		f.bytes += info.Size()
	}
	return f, nil
}

// touch notes that a circuit that was received is used, as its folder's time of modification.
func (c *Catalogue) touch(folder string) {
	now := time.Now()
	_ = os.Chtimes(c.path(folder), now, now) // a folder of somebody else's keeps its time
}

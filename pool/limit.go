package pool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// HostLimit is the host memory that this process may still take: the smaller of the cgroup's limit less its usage and the memory
// that the machine has available, less the margin that is left to everything else. All in bytes.
func HostLimit(margin int64) (int64, error) { return hostLimit(os.DirFS("/"), margin) }

// hostLimit is HostLimit for the /proc and /sys of a root.
func hostLimit(root fs.FS, margin int64) (int64, error) {
	free, err := field(root, "proc/meminfo", "MemAvailable:")
	if err != nil {
		return 0, err
	}
	free *= 1024
	groups, err := cgroups(root)
	if err != nil {
		return 0, err
	}
	for _, g := range groups {
		left, err := g.left(root)
		if err != nil {
			return 0, err
		}
		free = min(free, left)
	}
	if free <= margin {
		return 0, fmt.Errorf("host memory: %d bytes free, %d of them to be left free", free, margin)
	}
	return free - margin, nil
}

// hierarchy is the names of one version's files.
type hierarchy struct {
	mount, limit, usage, cache string
}

var (
	version1 = hierarchy{"sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"}
	version2 = hierarchy{"sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"}
)

// cgroup is a folder with a memory limit that binds this process.
type cgroup struct {
	hierarchy
	dir string
}

// cgroups are those that the process is in: its own and the ones above, each of which may have a limit. In a container the path
// that the kernel tells may not be visible; the mount itself is the container's then.
func cgroups(root fs.FS) ([]cgroup, error) {
	data, err := fs.ReadFile(root, "proc/self/cgroup")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // a kernel without cgroups
	}
	if err != nil {
		return nil, err
	}
	var groups []cgroup
	for line := range strings.Lines(string(data)) {
		id, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		controllers, own, _ := strings.Cut(rest, ":")
		h := version1
		switch {
		case id == "0" && controllers == "":
			h = version2
		case controllers != "memory":
			continue
		}
		for rel := path.Clean("/" + own); ; rel = path.Dir(rel) {
			dir := path.Join(h.mount, rel)
			if _, err := fs.Stat(root, path.Join(dir, h.limit)); err == nil {
				groups = append(groups, cgroup{h, dir})
			}
			if rel == "/" {
				break
			}
		}
	}
	return groups, nil
}

// left is the limit less what is used; file pages that the kernel may drop aren't counted as used.
func (g cgroup) left(root fs.FS) (int64, error) {
	limit, err := number(root, path.Join(g.dir, g.limit))
	if err != nil || limit == math.MaxInt64 {
		return limit, err
	}
	usage, err := number(root, path.Join(g.dir, g.usage))
	if err != nil {
		return 0, err
	}
	cache, err := field(root, path.Join(g.dir, "memory.stat"), g.cache)
	if err != nil {
		return 0, err
	}
	return max(limit-max(usage-cache, 0), 0), nil
}

// number reads a file that holds one number, or "max".
func number(root fs.FS, name string) (int64, error) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	text := strings.TrimSpace(string(data))
	if text == "max" {
		return math.MaxInt64, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("/%s: found %q, expected a number of bytes", name, text)
	}
	return n, nil
}

// field reads the number that follows a name at the start of a line.
func field(root fs.FS, name, key string) (int64, error) {
	data, err := fs.ReadFile(root, name)
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		words := strings.Fields(lines.Text())
		if len(words) < 2 || words[0] != key {
			continue
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/%s: found %s %q, expected a number", name, key, words[1])
		}
		return n, nil
	}
	return 0, fmt.Errorf("/%s: no line %s", name, key)
}

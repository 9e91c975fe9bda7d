package pool

import (
	"testing"
	"testing/fstest"
)

func files(pairs ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		root[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return root
}

func TestHostLimit(t *testing.T) {
	const meminfo = "MemTotal:       16 kB\nMemFree:        1 kB\nMemAvailable:   8 kB\n"
	for name, test := range map[string]struct {
		root fstest.MapFS
		want int64
		err  string
	}{
		"no cgroups": {files("proc/meminfo", meminfo), 8000, ""},
		"version 2, in a container": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n",
			"sys/fs/cgroup/memory.max", "5000\n", "sys/fs/cgroup/memory.current", "3000\n",
			"sys/fs/cgroup/memory.stat", "anon 1500\ninactive_file 1000\n"), 2808, ""},
		"version 2, the parent's limit binds": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/a/b\n",
			"sys/fs/cgroup/a/memory.max", "4000", "sys/fs/cgroup/a/memory.current", "0", "sys/fs/cgroup/a/memory.stat", "inactive_file 0\n",
			"sys/fs/cgroup/a/b/memory.max", "6000", "sys/fs/cgroup/a/b/memory.current", "0", "sys/fs/cgroup/a/b/memory.stat", "inactive_file 0\n"), 3808, ""},
		"version 2, no limit": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "max\n"), 8000, ""},
		"version 1": {files("proc/meminfo", meminfo, "proc/self/cgroup", "5:cpu:/x\n4:memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes", "7000", "sys/fs/cgroup/memory/x/memory.usage_in_bytes", "1000",
			"sys/fs/cgroup/memory/x/memory.stat", "inactive_file 7\ntotal_inactive_file 500\n"), 6308, ""},
		"version 1, path not visible in the container": {files("proc/meminfo", meminfo, "proc/self/cgroup", "4:memory:/docker/x\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes", "7000", "sys/fs/cgroup/memory/memory.usage_in_bytes", "1000",
			"sys/fs/cgroup/memory/memory.stat", "total_inactive_file 0\n"), 5808, ""},
		"more used than allowed": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n",
			"sys/fs/cgroup/memory.max", "5000", "sys/fs/cgroup/memory.current", "6000", "sys/fs/cgroup/memory.stat", "inactive_file 0\n"),
			0, "host memory: 0 bytes free, 192 of them to be left free"},
		"not a number": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/\n", "sys/fs/cgroup/memory.max", "much\n"),
			0, `/sys/fs/cgroup/memory.max: found "much", expected a number of bytes`},
		"old kernel":   {files("proc/meminfo", "MemTotal: 16 kB\n"), 0, "/proc/meminfo: no line MemAvailable:"},
		"odd meminfo":  {files("proc/meminfo", "MemAvailable: x kB\n"), 0, `/proc/meminfo: found MemAvailable: "x", expected a number`},
		"no file":      {files(), 0, "open proc/meminfo: file does not exist"},
		"hostile path": {files("proc/meminfo", meminfo, "proc/self/cgroup", "0::/../../x\n"), 8000, ""},
	} {
		got, err := hostLimit(test.root, 192)
		if err == nil && test.err != "" || err != nil && err.Error() != test.err || got != test.want {
			t.Errorf("%s: %d, %v; want %d, %q", name, got, err, test.want, test.err)
		}
	}
}

func TestHostLimitOfThisMachine(t *testing.T) {
	if n, err := HostLimit(0); err != nil || n <= 0 {
		t.Errorf("HostLimit: %d, %v", n, err)
	}
}

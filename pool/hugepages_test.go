package pool

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const mib = 1 << 20

// resident is the memory of this process that is mapped and backed, in bytes.
func resident(t *testing.T) int64 {
	t.Helper()
	debug.FreeOSMemory()
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip(err)
	}
	var size, pages int64
	if _, err := fmt.Sscan(string(data), &size, &pages); err != nil {
		t.Fatal(err)
	}
	return pages * int64(os.Getpagesize())
}

// P10: what is accounted is what is mapped, within 2 %, in each phase of a buffer's life.
func TestAccountedIsMapped(t *testing.T) {
	b := NewBudget(512 * mib)
	p := NewPool(b, HugePages{})
	base := resident(t)
	phase := func(name string, accounted int64) {
		t.Helper()
		wantUsed(t, b, accounted)
		mapped := resident(t) - base
		if diff := mapped - accounted; max(diff, -diff) > max(accounted/50, 4*mib) {
			t.Errorf("%s: %d MiB accounted, %d MiB mapped", name, accounted/mib, mapped/mib)
		}
	}
	phase("start", 0)
	bufs := checkOut(t, p, 200<<10, 48<<10+12) // 200 MiB and a few pages over 48 MiB
	phase("checked out", 250*mib)
	bufs[1].Bytes()[0] = 1
	bufs[0].Release()
	phase("one idle", 250*mib)
	smaller := checkOut(t, p, 180<<10)[0]
	phase("reused for less", 250*mib)
	smaller.Release()
	bufs[1].Release()
	phase("all idle", 250*mib)
	r := mustReserve(t, b, 280*mib)
	r.Close()
	phase("the longest idle freed", 50*mib)
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	phase("closed", 0)
}

func TestHugePages(t *testing.T) {
	var a HugePages
	for _, n := range []int{4096, 3 * 4096, 40 * mib} {
		mem, err := a.Alloc(n)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(mem, make([]byte, n)) {
			t.Errorf("%d bytes are not all zero", n)
		}
		if err := a.Free(mem); err != nil {
			t.Error(err)
		}
	}
	if _, err := a.Alloc(math.MaxInt &^ 4095); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("more than the address space: %v", err)
	}
	if err := a.Free(make([]byte, 4096)); err == nil {
		t.Error("Free took memory that isn't its own")
	}
}

// Witnesses stay out of core dumps: the mapping has the flag dd.
func TestNotInCoreDumps(t *testing.T) {
	mem, err := HugePages{}.Alloc(mib)
	if err != nil {
		t.Fatal(err)
	}
	defer HugePages{}.Free(mem)
	data, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	if flags := mappingFlags(string(data), uintptr(unsafe.Pointer(&mem[0]))); !slices.Contains(flags, "dd") {
		t.Errorf("flags of the mapping: %v", flags)
	}
}

// mappingFlags finds the mapping that holds an address in /proc/self/smaps.
func mappingFlags(smaps string, address uintptr) []string {
	inside := false
	for line := range strings.Lines(smaps) {
		var lo, hi uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x ", &lo, &hi); n == 2 {
			inside = lo <= address && address < hi
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && inside {
			return strings.Fields(flags)
		}
	}
	return nil
}

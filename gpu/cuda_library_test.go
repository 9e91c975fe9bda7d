package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/pinion-zk/pinion/pool"
)

// What a stub can be made to say: the settings of stub_set.
const (
	stubVersion = iota
	stubCount
	stubCards
	stubOpen
	stubLock
)

// stubs are the libraries that are compiled, by their macros.
var stubs sync.Map

// stub makes a library of testdata/stub.cpp, one of the test's own, with a state of its own.
func stub(t *testing.T, settings map[int32]int32, macros ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "libstub.so")
	if err := os.WriteFile(path, compileStub(t, macros), 0o700); err != nil {
		t.Fatal(err)
	}
	handle, err := dlopen(path)
	if err != nil {
		t.Fatal(err)
	}
	address, err := dlsym(handle, "stub_set")
	if err != nil {
		t.Fatal(err)
	}
	var set func(what, value int32)
	bind(&set, address)
	for what, value := range settings {
		set(what, value)
	}
	return path
}

// compileStub compiles it; away from the sources, pinion.h lies beside it.
func compileStub(t *testing.T, macros []string) []byte {
	t.Helper()
	name := strings.Join(macros, " ")
	if library, found := stubs.Load(name); found {
		return library.([]byte)
	}
	if runtime.GOOS != "linux" {
		t.Skip("CUDA libraries are loaded on Linux only")
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skip("no g++ to make a library with: ", err)
	}
	path := filepath.Join(t.TempDir(), "libcompiled.so")
	args := []string{"-shared", "-fPIC", "-pthread", "-o", path, "-I../csrc/include", "-Itestdata", "testdata/stub.cpp"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	if out, err := exec.Command(compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	library, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	stubs.Store(name, library)
	return library
}

func wantText(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

func TestCUDANoLibrary(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "libmissing.so")
	_, err := OpenCUDA(missing, 0)
	if !errors.Is(err, ErrNoLibrary) || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
	wantText(t, err, "cuda:0: no CUDA library: stat "+missing+": no such file or directory")

	text := filepath.Join(t.TempDir(), "libtext.so")
	if err := os.WriteFile(text, []byte("no library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCUDA(text, 0); !errors.Is(err, ErrNoLibrary) || !strings.Contains(err.Error(), text) {
		t.Errorf("a text file: error %v", err)
	}
}

func TestCUDALibraryOfAnotherVersion(t *testing.T) {
	path := stub(t, map[int32]int32{stubVersion: 1000}, "LACKS")
	_, err := OpenCUDA(path, 0)
	var version *VersionError
	if !errors.As(err, &version) || version.Found != 1000 || version.Expected != abiVersion {
		t.Errorf("error %v", err)
	}
	wantText(t, err, fmt.Sprintf("cuda:0: CUDA library %s has interface version 1000, expected %d: library and program must be of one release", path, abiVersion))
}

func TestCUDALibraryLacksFunctions(t *testing.T) {
	path := stub(t, nil, "LACKS")
	_, err := OpenCUDA(path, 0)
	if !errors.Is(err, ErrNoLibrary) {
		t.Errorf("error %v", err)
	}
	wantText(t, err, "cuda:0: no CUDA library: "+path+" lacks pinion_host_register, pinion_host_unregister")
}

// The CUDA toolkit is installed, and no GPU is.
func TestCUDAToolkitWithoutGPU(t *testing.T) {
	for _, test := range []struct {
		what, value int32
		want        string
	}{
		{stubCount, int32(codeNoDevice), "cuda:0: no such CUDA device: the stub says 2"},
		{stubCards, 0, "cuda:0: no such CUDA device: there are 0"},
	} {
		_, err := OpenCUDA(stub(t, map[int32]int32{test.what: test.value}), 0)
		if !errors.Is(err, ErrNoCard) {
			t.Errorf("error %v", err)
		}
		wantText(t, err, test.want)
	}
}

// P1: the number of a card that isn't there is no reason to take another.
func TestP1NoSuchCard(t *testing.T) {
	path := stub(t, map[int32]int32{stubCards: 2, stubOpen: int32(codeOutOfMemory)})
	for ordinal, want := range map[int]string{
		2:  "cuda:2: no such CUDA device: there are 2",
		-1: "cuda:-1: no such CUDA device: there are 2",
	} {
		_, err := OpenCUDA(path, ordinal)
		if !errors.Is(err, ErrNoCard) {
			t.Errorf("error %v", err)
		}
		wantText(t, err, want)
	}
	for range 2 { // a card that could not be opened isn't in use
		_, err := OpenCUDA(path, 1)
		wantText(t, err, "cuda:1: out of memory: the stub says 3")
	}
}

// What can't be locked is given back, and what can't be unlocked isn't.
func TestPinnedFailures(t *testing.T) {
	lib, err := loadLibrary(stub(t, map[int32]int32{stubLock: int32(codeOutOfMemory)}))
	if err != nil {
		t.Fatal(err)
	}
	under := &countingAllocator{}
	p := &Pinned{lib: lib, memory: under}
	_, err = p.Alloc(8192)
	if !errors.Is(err, ErrMemory) || under.allocated != 1 || under.freed != 1 {
		t.Errorf("error %v; %+v", err, under)
	}
	wantText(t, err, "page-lock 8192 bytes: out of memory: the stub says 3")
	mem, err := under.Alloc(4096)
	if err != nil {
		t.Fatal(err)
	}
	wantText(t, p.Free(mem), "unlock 4096 bytes: out of memory: the stub says 3")
	if under.freed != 1 {
		t.Error("memory that is locked was given back")
	}
	if err := under.Free(mem); err != nil {
		t.Error(err)
	}
}

var _ pool.Allocator = (*Pinned)(nil)

type countingAllocator struct {
	pool.HugePages
	allocated, freed int
}

func (a *countingAllocator) Alloc(n int) ([]byte, error) {
	a.allocated++
	return a.HugePages.Alloc(n)
}

func (a *countingAllocator) Free(b []byte) error {
	a.freed++
	return a.HugePages.Free(b)
}

// The types here are those of the header, as a C compiler lays them out.
func TestCUDALayout(t *testing.T) {
	handle, err := dlopen(stub(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	address, err := dlsym(handle, "stub_layout")
	if err != nil {
		t.Fatal(err)
	}
	var layout func(i uint64) uint64
	bind(&layout, address)
	var e cError
	var d cDeviceInfo
	var m cMatrix
	var k cKey
	var f cFootprint
	var in cInput
	var tm cTimings
	var bc cBenchCase
	var br cBenchResult
	for i, got := range []uintptr{
		unsafe.Sizeof(e), unsafe.Offsetof(e.message),
		unsafe.Sizeof(d), unsafe.Offsetof(d.kind), unsafe.Offsetof(d.memory), unsafe.Offsetof(d.free),
		unsafe.Offsetof(d.used), unsafe.Offsetof(d.ordinal), unsafe.Offsetof(d.overlap),
		unsafe.Sizeof(m), unsafe.Offsetof(m.entries),
		unsafe.Sizeof(k), unsafe.Offsetof(k.batch), unsafe.Offsetof(k.quotient), unsafe.Offsetof(k.exponents), unsafe.Offsetof(k.vars), unsafe.Offsetof(k.publicWires), unsafe.Offsetof(k.domain),
		unsafe.Offsetof(k.rows), unsafe.Offsetof(k.coefficients), unsafe.Offsetof(k.alpha1), unsafe.Offsetof(k.delta2), unsafe.Offsetof(k.pointsA),
		unsafe.Offsetof(k.pointsB1), unsafe.Offsetof(k.pointsB2), unsafe.Offsetof(k.pointsC), unsafe.Offsetof(k.pointsH), unsafe.Offsetof(k.a),
		unsafe.Offsetof(k.b), unsafe.Offsetof(k.coefficient), unsafe.Offsetof(k.touch), unsafe.Offsetof(k.context),
		unsafe.Sizeof(f), unsafe.Offsetof(f.pinned), unsafe.Offsetof(f.batch),
		unsafe.Sizeof(in), unsafe.Offsetof(in.a), unsafe.Offsetof(in.b), unsafe.Offsetof(in.r), unsafe.Offsetof(in.s),
		unsafe.Sizeof(tm), unsafe.Offsetof(tm.ntt), unsafe.Offsetof(tm.sort), unsafe.Offsetof(tm.a), unsafe.Offsetof(tm.h),
		unsafe.Offsetof(tm.finish), unsafe.Offsetof(tm.total), unsafe.Offsetof(tm.overlapped),
		unsafe.Sizeof(bc), unsafe.Offsetof(bc.repetitions), unsafe.Offsetof(bc.seed),
		unsafe.Sizeof(br), unsafe.Offsetof(br.bits), unsafe.Offsetof(br.operations), unsafe.Offsetof(br.found), unsafe.Offsetof(br.expected),
	} {
		if want := layout(uint64(i)); uint64(got) != want {
			t.Errorf("number %d of stub_layout: %d here, %d in C", i, got, want)
		}
	}
}

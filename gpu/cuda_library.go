package gpu

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// libraryName is the file that `make cuda` builds.
const libraryName = "libpinion_cuda.so"

// libraryDirs are looked through after the directory of the program, and before what the system's loader knows.
var libraryDirs = []string{"/usr/local/lib/pinion", "/usr/lib/pinion", "/usr/local/lib", "/usr/lib"}

// libraries are those that are loaded, by path.
var libraries = struct {
	sync.Mutex
	loaded map[string]*library
}{loaded: make(map[string]*library)}

// loadLibrary loads the CUDA library at path, or the first one that there is if path is empty: beside the program, in ../lib of it, in
// libraryDirs, and where the system looks.
func loadLibrary(path string) (*library, error) {
	if path == "" {
		path = findLibrary()
	} else if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	libraries.Lock()
	defer libraries.Unlock()
	if l := libraries.loaded[path]; l != nil {
		return l, nil
	}
	l := &library{path: path}
	if err := l.load(); err != nil {
		return nil, err
	}
	libraries.loaded[path] = l
	return l, nil
}

// findLibrary returns the path of the library, or its bare name, which leaves the search to the system.
func findLibrary() string {
	dirs := libraryDirs
	if program, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(program); err == nil {
			program = resolved
		}
		dir := filepath.Dir(program)
		dirs = append([]string{dir, filepath.Join(filepath.Dir(dir), "lib")}, dirs...)
	}
	for _, dir := range dirs {
		path := filepath.Join(dir, libraryName)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return libraryName
}

// load opens the library and binds its functions. One of another version is not called but for that.
func (l *library) load() error {
	handle, err := dlopen(l.path)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrNoLibrary, err)
	}
	var missing []string
	for _, f := range l.functions() {
		address, err := dlsym(handle, f.name)
		if err != nil {
			missing = append(missing, f.name)
			continue
		}
		bind(f.to, address)
	}
	if l.abiVersion == nil {
		return fmt.Errorf("%w: %s is none: it has no function pinion_abi_version", ErrNoLibrary, l.path)
	}
	if found := l.abiVersion(); found != abiVersion {
		return &VersionError{Path: l.path, Found: found, Expected: abiVersion}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%w: %s lacks %s", ErrNoLibrary, l.path, strings.Join(missing, ", "))
	}
	return nil
}

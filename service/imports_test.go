package service

import (
	"go/build"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/pinion-zk/pinion"

// house says which packages of ours each folder may import besides its own: nothing is called back across two floors. Folders
// within one (groth16/internal/bn254) follow the rule of the first.
var house = map[string][]string{
	"internal": nil,
	"groth16":  {"internal"},
	"pool":     nil,
	"circuit":  {"groth16"},
	"gpu":      {"groth16", "internal"},
	"csrc":     nil,
	"engine":   {"gpu", "pool", "circuit", "groth16"},
	"queue":    nil,
	"service":  {"queue", "engine", "gpu", "pool", "circuit", "groth16"},
	"cmd":      {"service", "queue", "engine", "gpu", "pool", "circuit", "groth16", "examples"},
	"examples": nil,
	"interop":  {"circuit", "examples"},
}

// strangers are other people's modules that only the named folders may know.
var strangers = map[string][]string{
	"github.com/nats-io/":        {"queue", "service", "cmd"},
	"github.com/vmihailenco/":    {"queue"},
	"github.com/alecthomas/kong": {"cmd"},
	"github.com/caarlos0/env":    {"service"},
	"github.com/tetratelabs/":    {"circuit"},
}

// TestImportsRunOneWay reads the imports of every package, those for other platforms included, tests apart: they may reach down the
// house from anywhere.
func TestImportsRunOneWay(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	err = filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); dir != root && (name[0] == '.' || name[0] == '_' || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		context := build.Default
		context.UseAllFiles = true
		pkg, _ := context.ImportDir(dir, build.IgnoreVendor)
		if pkg == nil || len(pkg.GoFiles) == 0 {
			return nil // no Go here
		}
		from, err := filepath.Rel(root, dir)
		if err != nil {
			return err
		}
		from = top(filepath.ToSlash(from))
		seen[from] = true
		allowed, ok := house[from]
		if !ok {
			t.Errorf("%s: a folder that the house doesn't know", dir)
		}
		for _, path := range pkg.Imports {
			if to, ours := strings.CutPrefix(path, module+"/"); ours && top(to) != from && !slices.Contains(allowed, top(to)) {
				t.Errorf("%s imports %s: %s may import %v of ours", dir, path, from, allowed)
			}
			for stranger, friends := range strangers {
				if strings.HasPrefix(path, stranger) && !slices.Contains(friends, from) {
					t.Errorf("%s imports %s: only %v may", dir, path, friends)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder := range house {
		if !seen[folder] {
			t.Errorf("no package in %s: is the test looking in the wrong place?", folder)
		}
	}
}

// top is the first folder of a path.
func top(path string) string {
	first, _, _ := strings.Cut(path, "/")
	return first
}

package circuit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
)

const codeSumFile = "crc32c"

// A codeCache is the directory of one module's compiled code. wazero checks only a part of what it reads back, and a fault in the rest
// is a jump to anywhere: so the whole is checked here, and what fails is compiled anew. Entries are made aside and renamed, so that
// any number of processes can share them.
type codeCache struct {
	entry string // where the code is, once it is whole
	dir   string // where wazero reads or writes it now: entry, or a fresh directory beside it
}

// openCodeCache finds the entry of a module, or starts a fresh one.
func openCodeCache(dir string, wasm []byte) (*codeCache, error) {
	digest := sha256.Sum256(wasm)
	c := &codeCache{entry: filepath.Join(dir, hex.EncodeToString(digest[:]))}
	if c.whole() {
		c.dir = c.entry
		return c, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var err error
	if c.dir, err = os.MkdirTemp(dir, ".code-*"); err != nil {
		return nil, err
	}
	damaged := c.dir + "-damaged" // if there is one: another process may be at the same
	if os.Rename(c.entry, damaged) == nil {
		os.RemoveAll(damaged)
	}
	return c, nil
}

func (c *codeCache) whole() bool {
	recorded, err := os.ReadFile(filepath.Join(c.entry, codeSumFile))
	if err != nil {
		return false
	}
	found, err := c.sum(c.entry)
	return err == nil && found == string(recorded)
}

// seal makes a fresh directory the entry, with its checksum; also if wazero has replaced what is there, being of another version.
func (c *codeCache) seal() error {
	if c.dir == c.entry && c.whole() {
		return nil
	}
	sum, err := c.sum(c.dir)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.dir, codeSumFile), []byte(sum), 0o600); err != nil {
		return err
	}
	if err := os.Rename(c.dir, c.entry); err != nil && !errors.Is(err, fs.ErrExist) { // there: another process was quicker
		return err
	}
	return nil
}

// discard removes a fresh directory that did not become the entry.
func (c *codeCache) discard() {
	if c.dir != c.entry {
		os.RemoveAll(c.dir)
	}
}

// sum is a checksum of every file under dir but the one that holds it.
func (c *codeCache) sum(dir string) (string, error) {
	h := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || entry.Name() == codeSumFile {
			return err
		}
		code, err := os.ReadFile(path)
		fmt.Fprintf(h, "%s %d\n", entry.Name(), len(code))
		h.Write(code)
		return err
	})
	return fmt.Sprintf("%08x\n", h.Sum32()), err
}

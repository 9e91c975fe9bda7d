package circuit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// scratch is a folder of the catalogue in which an entry is built or taken apart. It is locked as long as its process lives, so that
// others can tell it from what a dead one left.
type scratch struct {
	dir  string
	lock *os.File
}

// entry is where the circuit's folder is while it is in the scratch folder.
func (s *scratch) entry() string { return filepath.Join(s.dir, "entry") }

// close removes what is left in the scratch folder, and the folder.
func (s *scratch) close() error { return errors.Join(os.RemoveAll(s.dir), s.lock.Close()) }

// newScratch makes a scratch folder, and clears away those of dead processes.
func (c *Catalogue) newScratch() (*scratch, error) {
	turn, err := os.OpenFile(c.path(".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	defer turn.Close() // and unlocks
	if err := lockFile(turn, syscall.LOCK_EX); err != nil {
		return nil, fmt.Errorf("catalogue: locking %s: %w", turn.Name(), err)
	}
	if err := c.sweep(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(c.dir, ".scratch-*")
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	s := &scratch{dir: dir}
	if s.lock, err = os.Open(dir); err == nil {
		err = lockFile(s.lock, syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("catalogue: locking %s: %w", dir, err), s.close())
	}
	return s, nil
}

// sweep removes the scratch folders that nobody holds. Its caller holds the catalogue's lock, so none is about to be locked.
func (c *Catalogue) sweep() error {
	dirs, err := filepath.Glob(c.path(".scratch-*"))
	if err != nil {
		return err
	}
	for _, dir := range dirs {
		f, err := os.Open(dir)
		if err != nil {
			continue // its owner was quicker
		}
		if lockFile(f, syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			err = os.RemoveAll(dir)
		}
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("catalogue: clearing away %s: %w", dir, err)
		}
	}
	return nil
}

func lockFile(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

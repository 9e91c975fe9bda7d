package circuit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Files of a circuit, in the folder that has its name.
const (
	infoFile         = "circuit.json"
	keyFile          = "key.pinion"
	verifyingKeyFile = "verification_key.json"
	wasmFile         = "circuit.wasm"
	r1csFile         = "circuit.r1cs"
)

// KeyFile is the name of the file that is mapped while a circuit is in use: among those of Circuit.Files and of Receive.
const KeyFile = keyFile

// Catalogue is a directory with one folder per circuit: those that were added have its name, those that were received (see Receive) its
// name@digest. A reference means the first if its digest allows that, else the second. Any number of goroutines and processes may use one at the same time: a circuit
// appears and disappears by one rename, so it is there whole or not at all, and an open one stays usable when it is removed.
//
// Folders whose name begins with a dot are the catalogue's own: circuits that are being added or removed (of processes that died, the
// next Add or Remove clears them away), and compiled calculators.
type Catalogue struct {
	// CalculatorMemory bounds the linear memory of one witness calculation, in bytes; 0 means 1 GiB. It is set before the catalogue is used.
	CalculatorMemory int64

	dir string
}

// OpenCatalogue opens a directory as a catalogue, and makes it if it is not there.
func OpenCatalogue(dir string) (*Catalogue, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	return &Catalogue{dir: dir}, nil
}

// Dir is the catalogue's directory.
func (c *Catalogue) Dir() string { return c.dir }

func (c *Catalogue) path(name string, file ...string) string {
	return filepath.Join(append([]string{c.dir, name}, file...)...)
}

// calculatorOptions keep compiled code beside the circuits.
func (c *Catalogue) calculatorOptions() CalculatorOptions {
	return CalculatorOptions{CacheDir: c.path(".compiled"), MemoryLimit: c.CalculatorMemory}
}

// List returns the circuits that were added, in order of their names. Broken entries are left out and told of by the error, which does
// not make the list less good.
func (c *Catalogue) List() ([]Info, error) { return c.list(false) }

func (c *Catalogue) list(received bool) ([]Info, error) {
	refs, err := c.refs()
	if err != nil {
		return nil, err
	}
	var infos []Info
	var broken []error
	for _, ref := range refs {
		if ref.Digest.IsZero() == received {
			continue
		}
		switch info, err := c.read(ref.String(), ref); {
		case err == nil:
			infos = append(infos, *info)
		case !errors.Is(err, ErrUnknownCircuit): // removed meanwhile
			broken = append(broken, err)
		}
	}
	return infos, errors.Join(broken...)
}

// refs are what the folders of circuits are called, in order.
func (c *Catalogue) refs() ([]Ref, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, fmt.Errorf("catalogue: %w", err)
	}
	var refs []Ref
	for _, e := range entries {
		if ref, err := ParseRef(e.Name()); err == nil && e.IsDir() {
			refs = append(refs, ref)
		}
	}
	return refs, nil
}

// Info describes a circuit. Errors wrap ErrUnknownCircuit, ErrDigestMismatch or ErrAmbiguous where they are the reason.
func (c *Catalogue) Info(ref Ref) (*Info, error) {
	info, _, err := c.find(ref)
	return info, err
}

// find describes a circuit and says in which folder it is.
func (c *Catalogue) find(ref Ref) (info *Info, folder string, err error) {
	if err := checkName(ref.Name); err != nil {
		return nil, "", err
	}
	info, err = c.read(ref.Name, ref)
	if err == nil || ref.Digest.IsZero() && !errors.Is(err, ErrUnknownCircuit) {
		return info, ref.Name, err
	}
	received, none := c.received(ref)
	if errors.Is(none, fs.ErrNotExist) {
		return nil, "", err
	} else if none != nil {
		return nil, "", none
	}
	info, err = c.read(received.String(), received)
	return info, received.String(), err
}

// read reads the description in a folder, which must be that of the circuit.
func (c *Catalogue) read(folder string, ref Ref) (*Info, error) {
	info, err := readInfo(c.path(folder, infoFile))
	if errors.Is(err, fs.ErrNotExist) {
		if _, gone := os.Stat(c.path(folder)); errors.Is(gone, fs.ErrNotExist) {
			err = ErrUnknownCircuit
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("circuit %s: %w", ref.Name, err)
	case info.Name != ref.Name:
		return nil, fmt.Errorf("circuit %s: %s: found name %.80q, expected that of its folder", ref.Name, infoFile, info.Name)
	case !ref.Digest.IsZero() && info.Digest != ref.Digest:
		return nil, fmt.Errorf("circuit %s: %w: found %s, expected %s", ref.Name, ErrDigestMismatch, info.Digest, ref.Digest)
	}
	return info, nil
}

// Open maps a circuit's prepared key: the one of that name, and of that digest unless it is zero. Errors wrap ErrUnknownCircuit or
// ErrDigestMismatch where they are the reason.
func (c *Catalogue) Open(ref Ref) (*Circuit, error) {
	info, folder, err := c.find(ref)
	if err != nil {
		return nil, err
	}
	circuit, err := openCircuit(c.path(folder), *info, c.calculatorOptions())
	if err == nil {
		if folder != ref.Name {
			c.touch(folder)
		}
		return circuit, nil
	}
	switch now, gone := c.Info(ref); { // was it removed, or replaced, meanwhile?
	case gone != nil:
		return nil, gone
	case *now != *info:
		return c.Open(ref)
	}
	return nil, fmt.Errorf("circuit %s: %w", ref.Name, err)
}

// Check reads all of a circuit: checksums, and whether its files still fit each other. Stages are "checksums" and "constraints".
func (c *Catalogue) Check(ctx context.Context, ref Ref, progress Progress) error {
	circuit, err := c.Open(ref)
	if err != nil {
		return err
	}
	if err := errors.Join(circuit.check(ctx, progress), circuit.Close()); err != nil {
		return fmt.Errorf("circuit %s: %w", ref.Name, err)
	}
	return nil
}

// Remove takes a circuit out of the catalogue, a broken one too. Who has it open keeps it.
func (c *Catalogue) Remove(ref Ref) error {
	if err := checkName(ref.Name); err != nil {
		return err
	}
	folder := ref.String()
	if _, err := os.Lstat(c.path(folder)); errors.Is(err, fs.ErrNotExist) {
		if _, folder, err = c.find(ref); err != nil {
			return err
		}
	}
	return c.discard(folder)
}

// discard removes a folder by one rename.
func (c *Catalogue) discard(folder string) error {
	s, err := c.newScratch()
	if err != nil {
		return err
	}
	err = os.Rename(c.path(folder), s.entry())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("circuit %s: %w", folder, ErrUnknownCircuit)
	}
	if err == nil {
		err = syncDir(c.dir)
	}
	return errors.Join(err, s.close())
}

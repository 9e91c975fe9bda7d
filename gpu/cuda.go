package gpu

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/pinion-zk/pinion/groth16"
)

// Card is a CUDA device: the kernels of csrc, in a library that is loaded when the first card is opened. It synthesizes on the device
// from the witness. The library's software device, for tests, is a Card too; Info.Name says so.
type Card struct {
	lib     *library
	ordinal int32
	handle  uintptr
	info    Info

	runs sync.WaitGroup
}

// opened are the cards that are open in this process, by library and number.
var opened sync.Map

type cardID struct {
	library string
	ordinal int
}

// OpenCUDA opens card number ordinal of the CUDA library at path; an empty path has it looked for. The errors are ErrNoLibrary,
// *VersionError, ErrNoCard, and ErrInUse for a card that is open in this process already.
func OpenCUDA(path string, ordinal int) (*Card, error) {
	c, err := openCard(path, ordinal)
	if err != nil {
		return nil, fmt.Errorf("cuda:%d: %w", ordinal, err)
	}
	return c, nil
}

func openCard(path string, ordinal int) (*Card, error) {
	lib, err := loadLibrary(path)
	if err != nil {
		return nil, err
	}
	if err := lib.checkOrdinal(ordinal); err != nil {
		return nil, err
	}
	id := lib.cardID(ordinal)
	if _, taken := opened.LoadOrStore(id, true); taken {
		return nil, ErrInUse
	}
	c := &Card{lib: lib, ordinal: int32(ordinal)}
	if err := c.open(); err != nil {
		opened.Delete(id)
		return nil, err
	}
	return c, nil
}

// cardID tells cards apart, also where two paths lead to one library.
func (l *library) cardID(ordinal int) cardID {
	path := l.path
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return cardID{path, ordinal}
}

func (l *library) checkOrdinal(ordinal int) error {
	var n int32
	var e cError
	if err := e.err(l.deviceCount(&n, &e)); err != nil {
		return err
	}
	if ordinal < 0 || ordinal >= int(n) {
		return fmt.Errorf("%w: there are %d", ErrNoCard, n)
	}
	return nil
}

func (c *Card) open() error {
	var e cError
	if err := e.err(c.lib.deviceOpen(c.ordinal, &c.handle, &e)); err != nil {
		return err
	}
	about, err := c.describe()
	if err != nil {
		return err
	}
	kind, _, _ := bytes.Cut(about.kind[:], []byte{0})
	name, _, _ := bytes.Cut(about.name[:], []byte{0})
	c.info = Info{
		Name:      fmt.Sprintf("%s:%d (%s)", kind, c.ordinal, name),
		Kind:      CUDA,
		Memory:    about.free,
		Synthesis: OnDevice,
		Overlap:   int(about.overlap),
	}
	return nil
}

func (c *Card) describe() (about cDeviceInfo, err error) {
	var e cError
	err = e.err(c.lib.deviceDescribe(c.handle, &about, &e))
	return about, err
}

// Info implements Device. Memory is what was free when the card was opened: others may use it too.
func (c *Card) Info() Info { return c.info }

// staging is the page-locked memory through which the library copies a key: two pieces (csrc/prover/loader.h).
const staging = 2 * 4 << 20

// Library names the card's library, and the version of its interface.
func (c *Card) Library() string {
	return fmt.Sprintf("%s, interface %d", filepath.Base(c.lib.path), abiVersion)
}

// Footprint implements Device. What a task needs is part of the key's bytes: it is there from load to unload.
func (c *Card) Footprint(pk *groth16.ProvingKey) (Footprint, error) {
	var footprint cFootprint
	var e cError
	if err := e.err(c.lib.circuitFootprint(c.handle, keySizes(pk), &footprint, &e)); err != nil {
		return Footprint{}, fmt.Errorf("size of the circuit on %s: %w", c.info.Name, err)
	}
	return Footprint{Key: footprint.device, Host: footprint.pinned, Load: staging, Batch: int(footprint.batch)}, nil
}

// Close implements Device.
func (c *Card) Close() error {
	c.runs.Wait()
	var e cError
	if err := e.err(c.lib.deviceClose(c.handle, &e)); err != nil {
		return fmt.Errorf("close %s: %w", c.info.Name, err)
	}
	opened.Delete(c.lib.cardID(int(c.ordinal)))
	return nil
}

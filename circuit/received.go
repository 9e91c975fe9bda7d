package circuit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Incoming is a file of a circuit that comes from elsewhere: see Circuit.Files for which there are.
type Incoming struct {
	Name string
	Size int64
	// Open returns the file's bytes. If they aren't those that were promised, reading says so instead of io.EOF.
	Open func(ctx context.Context) (io.ReadCloser, error)
}

// Room is asked before so many bytes are mapped, and returns what says that they aren't any more.
type Room func(ctx context.Context, bytes int64) (release func(), err error)

// Receive takes a circuit that was imported elsewhere. It lies beside the circuits that were added, under its name and its digest
// together, so that there may be several of one name. Errors wrap ErrExists if it is there already, and ErrBusy while another
// goroutine or process receives it.
//
// The files are hostile until they have passed what an import checks: all points, the matrices, the calculator, the constraints. That
// the key is the one of the zkey with that digest can't be checked, because the zkey isn't here: who made the files is trusted for it.
// To be checked the key is mapped, which room, if not nil, is asked for.
//
// Stages are "download", "checksums", "points", "matrices" and "constraints".
func (c *Catalogue) Receive(ctx context.Context, ref Ref, files []Incoming, room Room, progress Progress) (*Info, error) {
	if err := checkName(ref.Name); err != nil {
		return nil, err
	}
	if ref.Digest.IsZero() {
		return nil, fmt.Errorf("circuit %s: expected a digest with the name", ref.Name)
	}
	turn, err := c.lockIncoming(ref)
	if err != nil {
		return nil, fmt.Errorf("circuit %s: %w", ref, err)
	}
	defer turn.release()
	if _, err := c.Info(ref); err == nil {
		return nil, fmt.Errorf("circuit %s: %w", ref, ErrExists)
	}
	if err := c.discard(ref.String()); err != nil && !errors.Is(err, ErrUnknownCircuit) { // one that is broken
		return nil, err
	}
	s, err := c.newScratch()
	if err != nil {
		return nil, err
	}
	info, err := c.receive(ctx, s.entry(), ref, files, room, progress)
	if err == nil {
		err = c.publish(s.entry(), ref.String())
	}
	if err := errors.Join(err, s.close()); err != nil {
		return nil, fmt.Errorf("circuit %s: %w", ref.Name, err)
	}
	return info, nil
}

// receive makes all files of an entry in dir.
func (c *Catalogue) receive(ctx context.Context, dir string, ref Ref, files []Incoming, room Room, progress Progress) (info *Info, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	has, err := download(ctx, dir, files, progress)
	if err != nil {
		return nil, err
	}
	if room != nil {
		stat, err := os.Stat(filepath.Join(dir, keyFile))
		if err != nil {
			return nil, err
		}
		release, err := room(ctx, stat.Size())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	p, err := OpenPrepared(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	err = p.check(ctx, ref.Digest, progress)
	shape := Shape{p.header.curve, p.header.vars}
	if err := errors.Join(err, p.Close()); err != nil {
		return nil, err
	}
	if has[wasmFile] {
		if err := checkWasm(ctx, filepath.Join(dir, wasmFile), shape, c.calculatorOptions()); err != nil {
			return nil, fmt.Errorf("%s: %w", wasmFile, err)
		}
	}
	var r *R1CS
	if has[r1csFile] {
		if r, err = OpenR1CS(filepath.Join(dir, r1csFile)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
	}
	return describe(ctx, dir, ref.Name, has[wasmFile], r, progress)
}

// download stores the files, room for each reserved first, and returns which there are. One that isn't whole has no name.
func download(ctx context.Context, dir string, files []Incoming, progress Progress) (has map[string]bool, err error) {
	has = map[string]bool{}
	total := int64(0)
	for _, f := range files {
		if f.Name != keyFile && f.Name != wasmFile && f.Name != r1csFile || has[f.Name] {
			return nil, fmt.Errorf("found a file %.80q, expected %s, %s and %s, each once", f.Name, keyFile, wasmFile, r1csFile)
		}
		has[f.Name] = true
		total += f.Size
	}
	if !has[keyFile] {
		return nil, fmt.Errorf("found no %s", keyFile)
	}
	done := int64(0)
	for _, f := range files {
		arrived := func(n int64) {
			done += n
			progress.report("download", done, total)
		}
		if err := writeAtomically(filepath.Join(dir, f.Name), func(to *os.File) error { return f.store(ctx, to, arrived) }); err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	return has, nil
}

func (f *Incoming) store(ctx context.Context, to *os.File, arrived func(n int64)) (err error) {
	if err := allocate(to, f.Size); err != nil {
		return err
	}
	from, err := f.Open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	size := int64(0)
	for buf := make([]byte, chunkBytes); ; {
		n, err := io.ReadFull(from, buf)
		if size += int64(n); size > f.Size {
			return fmt.Errorf("found more than the %d bytes expected", f.Size)
		}
		if _, err := to.WriteAt(buf[:n], size-int64(n)); err != nil {
			return err
		}
		arrived(int64(n))
		switch {
		case err == nil:
		case err != io.EOF && err != io.ErrUnexpectedEOF:
			return err
		case size != f.Size:
			return fmt.Errorf("found %d bytes, expected %d", size, f.Size)
		default:
			return nil
		}
	}
}

// Received lists the circuits that were received, as List does those that were added.
func (c *Catalogue) Received() ([]Info, error) { return c.list(true) }

// received finds the one circuit that was received and that ref may mean.
func (c *Catalogue) received(ref Ref) (Ref, error) {
	if !ref.Digest.IsZero() {
		_, err := os.Stat(c.path(ref.String()))
		return ref, err
	}
	refs, err := c.refs()
	if err != nil {
		return ref, err
	}
	n := 0
	for _, r := range refs {
		if r.Name == ref.Name && !r.Digest.IsZero() {
			ref = r
			n++
		}
	}
	switch n {
	case 0:
		return ref, fs.ErrNotExist
	case 1:
		return ref, nil
	}
	return ref, fmt.Errorf("circuit %s: %w: %d of them were pulled", ref.Name, ErrAmbiguous, n)
}

// incoming is the right to receive a circuit: a locked file, which goes with the right.
type incoming struct{ file *os.File }

// lockIncoming takes the right to receive a circuit, or returns ErrBusy. The lock is the kernel's, so it ends with its process.
func (c *Catalogue) lockIncoming(ref Ref) (*incoming, error) {
	path := c.path(".incoming-" + ref.String())
	for {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
		if err != nil {
			return nil, err
		}
		if err := lockFile(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			if errors.Is(err, syscall.EWOULDBLOCK) {
				err = ErrBusy
			}
			return nil, errors.Join(err, f.Close())
		}
		if isNamed(f, path) {
			return &incoming{f}, nil
		}
		f.Close() // it was removed between opening and locking
	}
}

// isNamed tells whether the path still means the open file.
func isNamed(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// release removes the file while it is still locked, so that nobody locks a file that others don't see.
func (i *incoming) release() {
	_ = os.Remove(i.file.Name()) // one that is left is taken by the next
	_ = i.file.Close()
}

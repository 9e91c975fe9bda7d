package circuit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Files are the paths of what a circuit is added from. Only the zkey must be given.
type Files struct {
	Zkey string
	Wasm string // the witness calculator, for jobs that bring inputs
	R1CS string // the constraints, to name the one that a witness does not satisfy
}

// Add imports a circuit: every check of Zkey.Check, and that the wasm and the r1cs belong to the key. The files are copied
// or prepared; the originals are not needed any more. Errors wrap ErrExists if there is a circuit of that name. Check whether
// the returned Info is Forgeable.
func (c *Catalogue) Add(ctx context.Context, name string, files Files, progress Progress) (*Info, error) {
	if err := c.Free(name); err != nil {
		return nil, err
	}
	if files.Zkey == "" {
		return nil, fmt.Errorf("circuit %s: no zkey given", name)
	}
	s, err := c.newScratch()
	if err != nil {
		return nil, err
	}
	info, err := c.build(ctx, s.entry(), name, files, progress)
	if err == nil {
		err = c.publish(s.entry(), name)
	}
	if err := errors.Join(err, s.close()); err != nil {
		return nil, fmt.Errorf("circuit %s: %w", name, err)
	}
	return info, nil
}

// Free tells whether a circuit may be added by that name: nil, or an error, which wraps ErrExists if there is one.
func (c *Catalogue) Free(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	_, err := os.Stat(c.path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("circuit %s: %w", name, err)
	}
	return fmt.Errorf("circuit %s: %w: remove it first", name, ErrExists)
}

// publish gives a built entry its name. A folder cannot be renamed onto one that has files, so of two that add one name one fails.
func (c *Catalogue) publish(entry, name string) error {
	if err := syncDir(entry); err != nil {
		return err
	}
	err := os.Rename(entry, c.path(name))
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: remove it first", ErrExists)
	}
	if err != nil {
		return err
	}
	return syncDir(c.dir)
}

// build makes all files of an entry in dir. What can be compared quickly comes before the long checks of the key.
func (c *Catalogue) build(ctx context.Context, dir, name string, files Files, progress Progress) (info *Info, err error) {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	z, err := OpenZkey(files.Zkey)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, z.Close()) }()

	if files.Wasm != "" {
		if err := copyFile(ctx, filepath.Join(dir, wasmFile), files.Wasm); err != nil {
			return nil, err
		}
		if err := checkWasm(ctx, filepath.Join(dir, wasmFile), Shape{z.Curve, z.Vars}, c.calculatorOptions()); err != nil {
			return nil, fmt.Errorf("%s: %w", filepath.Base(files.Wasm), err)
		}
	}
	var r *R1CS
	if files.R1CS != "" {
		if err := copyFile(ctx, filepath.Join(dir, r1csFile), files.R1CS); err != nil {
			return nil, err
		}
		if r, err = OpenR1CS(filepath.Join(dir, r1csFile)); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, r.Close()) }()
		r.file.name = filepath.Base(files.R1CS) // for errors: the name that the caller knows
		if err := r.fits(z.Curve, z.Vars, z.Public); err != nil {
			return nil, err
		}
	}
	if err := Prepare(ctx, z, filepath.Join(dir, keyFile), progress); err != nil {
		return nil, err
	}
	return describe(ctx, dir, name, files.Wasm != "", r, progress)
}

// describe writes what is derived from the prepared key, after the last check: that the r1cs has the key's matrices.
func describe(ctx context.Context, dir, name string, wasm bool, r *R1CS, progress Progress) (info *Info, err error) {
	p, err := OpenPrepared(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	if r != nil {
		if err := r.matches(ctx, p.ProvingKey(), progress); err != nil {
			return nil, err
		}
	}
	i := newInfo(name, p, wasm, r != nil)
	if err := writeJSON(filepath.Join(dir, verifyingKeyFile), p.VerifyingKey()); err != nil {
		return nil, err
	}
	return &i, writeJSON(filepath.Join(dir, infoFile), &i)
}

// checkWasm compiles a calculator and compares it with the key.
func checkWasm(ctx context.Context, path string, want Shape, opt CalculatorOptions) error {
	calc, err := loadCalculator(ctx, path, opt)
	if err != nil {
		return err
	}
	found := Shape{calc.Curve(), calc.Vars()}
	if found != want {
		err = fmt.Errorf("found a calculator of %v, expected %v as in the key", found, want)
	}
	return errors.Join(err, calc.Close(ctx))
}

// maxWasm is far above what the largest circuits have.
const maxWasm = 1 << 30

func loadCalculator(ctx context.Context, path string, opt CalculatorOptions) (*Calculator, error) {
	stat, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if stat.Size() > maxWasm {
		return nil, fmt.Errorf("found %d bytes, expected at most %d", stat.Size(), maxWasm)
	}
	wasm, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return NewCalculator(ctx, wasm, opt)
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err
	}
	return writeAtomically(path, func(f *os.File) error {
		_, err := f.Write(append(text, '\n'))
		return err
	})
}

func copyFile(ctx context.Context, to, from string) error {
	src, _, err := openRegular(from)
	if err != nil {
		return err
	}
	defer src.Close()
	return writeAtomically(to, func(f *os.File) error {
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			if _, err := io.CopyN(f, src, 64<<20); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
}

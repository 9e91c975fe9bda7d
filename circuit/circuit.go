package circuit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/pinion-zk/pinion/groth16"
)

// Circuit is an open circuit of a catalogue. It is safe for concurrent use; Close ends the use of everything it gave out.
type Circuit struct {
	Info
	dir  string
	key  *Prepared
	r1cs *R1CS

	options    CalculatorOptions
	turn       chan struct{} // holds one token: whoever took it may use calculator
	calculator *Calculator
}

func openCircuit(dir string, info Info, opt CalculatorOptions) (*Circuit, error) {
	key, err := OpenPrepared(filepath.Join(dir, keyFile))
	if err != nil {
		return nil, err
	}
	c := &Circuit{Info: info, dir: dir, key: key, options: opt, turn: make(chan struct{}, 1)}
	c.turn <- struct{}{}
	if found := newInfo(info.Name, key, info.HasWasm, info.HasR1CS); found != info {
		err = fmt.Errorf("%s: found the description of another key than %s", infoFile, keyFile)
	} else if info.HasR1CS {
		c.r1cs, err = OpenR1CS(filepath.Join(dir, r1csFile))
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Key is the proving key, a view of a mapped file: valid until Close.
func (c *Circuit) Key() *groth16.ProvingKey { return c.key.ProvingKey() }

// VerifyingKey belongs to Key.
func (c *Circuit) VerifyingKey() *groth16.VerifyingKey { return c.key.VerifyingKey() }

// MappedBytes is how much is mapped for the key.
func (c *Circuit) MappedBytes() int64 { return c.key.Bytes() }

// R1CS are the circuit's constraints, nil if it was added without.
func (c *Circuit) R1CS() *R1CS { return c.r1cs }

// Files are the paths of what makes up the circuit: all that Receive takes to make it elsewhere. The names are the same there.
func (c *Circuit) Files() []string {
	paths := []string{filepath.Join(c.dir, keyFile)}
	if c.HasWasm {
		paths = append(paths, filepath.Join(c.dir, wasmFile))
	}
	if c.HasR1CS {
		paths = append(paths, filepath.Join(c.dir, r1csFile))
	}
	return paths
}

// Calculator is the circuit's witness calculator, compiled when first asked for and closed by Close. The error is
// ErrNoCalculator if the circuit was added without.
func (c *Circuit) Calculator(ctx context.Context) (*Calculator, error) {
	if !c.HasWasm {
		return nil, fmt.Errorf("circuit %s: %w", c.Name, ErrNoCalculator)
	}
	select {
	case <-c.turn:
		defer func() { c.turn <- struct{}{} }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if c.calculator == nil {
		calc, err := loadCalculator(ctx, filepath.Join(c.dir, wasmFile), c.options)
		if err != nil {
			return nil, fmt.Errorf("circuit %s: %s: %w", c.Name, wasmFile, err)
		}
		c.calculator = calc
	}
	return c.calculator, nil
}

// Close unmaps the key and closes the files. Nothing that the circuit gave out may be in use.
func (c *Circuit) Close() error {
	err := c.key.Close()
	if c.r1cs != nil {
		err = errors.Join(err, c.r1cs.Close())
	}
	if c.calculator != nil {
		err = errors.Join(err, c.calculator.Close(context.Background()))
	}
	return err
}

func (c *Circuit) check(ctx context.Context, progress Progress) error {
	if err := c.key.Verify(ctx, progress); err != nil {
		return err
	}
	if err := c.checkVerifyingKey(); err != nil {
		return err
	}
	if c.HasWasm {
		if err := checkWasm(ctx, filepath.Join(c.dir, wasmFile), c.Shape(), c.options); err != nil {
			return fmt.Errorf("%s: %w", wasmFile, err)
		}
	}
	if c.r1cs != nil {
		return c.r1cs.matches(ctx, c.Key(), progress)
	}
	return nil
}

// checkVerifyingKey compares the exported verifying key with the one of the prepared file.
func (c *Circuit) checkVerifyingKey() error {
	text, err := os.ReadFile(filepath.Join(c.dir, verifyingKeyFile))
	if err != nil {
		return err
	}
	want, err := json.MarshalIndent(c.VerifyingKey(), "", " ")
	if err != nil {
		return err
	}
	if !bytes.Equal(bytes.TrimSpace(text), want) {
		return fmt.Errorf("%s: found another key than that of %s", verifyingKeyFile, keyFile)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pinion-zk/pinion/circuit"
	"github.com/pinion-zk/pinion/groth16"
	"github.com/pinion-zk/pinion/service"
)

type circuitSetup struct {
	Name      string `arg:"" help:"Name: 1 to 64 of A-Z, a-z, 0-9, _ and -."`
	Insecure  bool   `help:"Make the key here, where its secrets are known: anyone with them can forge proofs."`
	R1cs      string `name:"r1cs" placeholder:"F" xor:"source" required:"" help:"Constraints of circom."`
	Synthetic count  `placeholder:"N" xor:"source" required:"" help:"A made-up circuit of N rows, 2^20 for example: constraints, and one for each public signal and the constant one."`
	Wasm      string `placeholder:"F" help:"With --r1cs: witness calculator of circom 2."`
	Curve     string `placeholder:"C" help:"With --synthetic: bn128 (the default) or bls12381."`

	Public  *int    `placeholder:"N" help:"With --synthetic: public signals (1)."`
	Zeros   float64 `placeholder:"X" help:"With --synthetic: share of wires whose value is 0; 0.4 for example."`
	Ones    float64 `placeholder:"X" help:"With --synthetic: share of wires whose value is 1. The others are random."`
	Seed    *uint64 `placeholder:"N" help:"With --synthetic: another number makes another circuit and witness (1)."`
	Witness string  `placeholder:"F" help:"With --synthetic: file for the witness, a .wtns."`

	Out string `placeholder:"F" help:"Keep the key in this file too, as a .zkey that snarkjs reads."`
}

func (*circuitSetup) Help() string {
	return "For development and measurements only. The key is marked as one of snarkjs is that nobody has contributed to (gamma = delta): serve " +
		"refuses it unless PINION_ALLOW_FORGEABLE names it. It is made on the device that PINION_DEVICE names."
}

// count is a positive number, in full or as a power: 2^20.
type count int

// UnmarshalText reads one.
func (c *count) UnmarshalText(text []byte) error {
	base, exponent, power := strings.Cut(string(text), "^")
	n, err := strconv.ParseUint(base, 10, 31)
	if power && err == nil {
		var k uint64
		if k, err = strconv.ParseUint(exponent, 10, 31); n != 2 || k > 30 {
			err = strconv.ErrRange
		}
		n = 1 << min(k, 30)
	}
	if err != nil || n == 0 {
		return fmt.Errorf("found %q, expected a number, or a power of two like 2^20", text)
	}
	*c = count(n)
	return nil
}

const whyInsecure = "without --insecure no key is made: whoever makes one alone knows the secrets to forge proofs with it. " +
	"This command is for development and measurements, where that doesn't matter. For keys to rely on, hold a ceremony with snarkjs, " +
	"and add its zkey with pinion circuit add"

func (c *circuitSetup) Run(a *app) error {
	if err := c.checkFlags(); err != nil {
		return &usageError{err}
	}
	config, err := a.config()
	if err != nil {
		return err
	}
	catalogue, err := config.OpenCatalogue()
	if err != nil {
		return err
	}
	if err := catalogue.Free(c.Name); err != nil {
		return a.filesFault(err)
	}
	zkey := c.Out
	if zkey == "" {
		dir, err := os.MkdirTemp("", "pinion-setup-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		zkey = filepath.Join(dir, "circuit.zkey")
	}
	begin := time.Now()
	device, err := c.makeKey(a, config, zkey)
	if err != nil {
		return err
	}
	made := time.Since(begin)
	bar := a.bar()
	info, err := catalogue.Add(a.ctx, c.Name, circuit.Files{Zkey: zkey, Wasm: c.Wasm, R1CS: c.R1cs}, bar.report)
	bar.close()
	if err != nil {
		return a.filesFault(err)
	}
	a.warnForgeable(*info)
	return a.print(setUp{*info, device, made.Seconds(), time.Since(begin).Seconds()}, func(w io.Writer) {
		fmt.Fprintf(w, "%s\nmade in %.1f s on %s, added in %.1f s\n", info.Ref(), made.Seconds(), device, (time.Since(begin) - made).Seconds())
	})
}

// setUp is what circuit setup prints.
type setUp struct {
	circuit.Info
	Device  string  `json:"device"`
	Made    float64 `json:"made_s"`
	Seconds float64 `json:"total_s"`
}

func (c *circuitSetup) checkFlags() error {
	synthetic := c.Curve != "" || c.Public != nil || c.Zeros != 0 || c.Ones != 0 || c.Seed != nil || c.Witness != ""
	switch {
	case !c.Insecure:
		return errors.New(whyInsecure)
	case c.R1cs != "" && synthetic:
		return errors.New("--curve, --public, --zeros, --ones, --seed and --witness go with --synthetic")
	case c.R1cs == "" && c.Wasm != "":
		return errors.New("--wasm goes with --r1cs")
	}
	return nil
}

// makeKey writes the zkey, and the witness if it is asked for. It returns the name of the device that was used.
func (c *circuitSetup) makeKey(a *app, config *service.Config, zkey string) (device string, err error) {
	bar := a.bar()
	defer bar.close()
	constraints, err := c.constraints(a.ctx, bar.report)
	if err != nil {
		return "", err
	}
	config.Log = "warn" // what the device is is printed at the end
	setup, err := config.NewSetup(config.Logger(a.stderr))
	if err != nil {
		return "", err
	}
	pk, vk, err := groth16.Setup(a.ctx, constraints, groth16.OddCoset)
	if err == nil {
		err = circuit.WriteZkey(a.ctx, zkey, pk, vk, setup.Multiply, bar.report)
	}
	return setup.Device(), errors.Join(err, setup.Close())
}

func (c *circuitSetup) constraints(ctx context.Context, progress circuit.Progress) (*groth16.Constraints, error) {
	if c.R1cs != "" {
		r, err := circuit.OpenR1CS(c.R1cs)
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return r.ReadConstraints(ctx, progress)
	}
	s := circuit.Synthetic{Curve: groth16.BN254, Rows: int(c.Synthetic), Public: 1, Zeros: c.Zeros, Ones: c.Ones, Seed: 1}
	if c.Curve != "" {
		var err error
		if s.Curve, err = groth16.ParseCurve(c.Curve); err != nil {
			return nil, &usageError{err}
		}
	}
	if c.Public != nil {
		s.Public = *c.Public
	}
	if c.Seed != nil {
		s.Seed = *c.Seed
	}
	constraints, witness, err := s.Make(ctx)
	switch {
	case err != nil && ctx.Err() == nil:
		return nil, &usageError{err}
	case err != nil || c.Witness == "":
		return constraints, err
	}
	return constraints, writeWitness(c.Witness, s.Curve, witness)
}

func writeWitness(path string, curve groth16.Curve, words []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(circuit.EncodeWtns(f, curve, words), f.Close())
}

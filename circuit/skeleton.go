package circuit

import (
	"context"
	"errors"
	"io"

	"github.com/pinion-zk/pinion/groth16"
)

var errNotYet = errors.New("not yet")

// Zkey is an open Groth16 key file of snarkjs.
type Zkey struct {
	Curve         groth16.Curve
	Vars          int
	Public        int
	Domain        int
	Entries       int
	Contributions int
}

func OpenZkey(path string) (*Zkey, error) { return nil, errNotYet }
func (z *Zkey) Digest(ctx context.Context, progress Progress) (Digest, error) {
	return Digest{}, errNotYet
}
func (z *Zkey) Check(ctx context.Context, progress Progress) error { return errNotYet }
func (z *Zkey) VerifyingKey() (*groth16.VerifyingKey, error)       { return nil, errNotYet }
func (z *Zkey) Close() error                                       { return nil }

// Shape is what a witness must fit.
type Shape struct {
	Curve groth16.Curve
	Vars  int
}

// DecodeWtns reads a .wtns of size bytes into dst (Vars*32 bytes).
func DecodeWtns(dst []byte, r io.Reader, size int64, want Shape) error { return errNotYet }

// EncodeWtns writes a .wtns file of the words (32 bytes each, little-endian).
func EncodeWtns(w io.Writer, curve groth16.Curve, words []byte) error { return errNotYet }

// WtnsSize is the size in bytes of the .wtns of a circuit with that many wires.
func WtnsSize(vars int) int64 { return 76 + 32*int64(vars) }

// R1CS is an open constraint file.
type R1CS struct {
	Curve       groth16.Curve
	Wires       int
	Public      int
	Constraints int
}

func OpenR1CS(path string) (*R1CS, error)                       { return nil, errNotYet }
func (r *R1CS) Check(ctx context.Context, witness []byte) error { return errNotYet }
func (r *R1CS) Close() error                                    { return nil }

// Prepared is a mapped prepared file.
type Prepared struct{}

func Prepare(ctx context.Context, z *Zkey, path string, progress Progress) error { return errNotYet }
func OpenPrepared(path string) (*Prepared, error)                                { return nil, errNotYet }
func (p *Prepared) ProvingKey() *groth16.ProvingKey                              { return nil }
func (p *Prepared) VerifyingKey() *groth16.VerifyingKey                          { return nil }
func (p *Prepared) Digest() Digest                                               { return Digest{} }
func (p *Prepared) Bytes() int64                                                 { return 0 }
func (p *Prepared) Verify(ctx context.Context, progress Progress) error          { return errNotYet }
func (p *Prepared) Close() error                                                 { return nil }

// Info describes a circuit of the catalogue.
type Info struct {
	Name        string        `json:"name"`
	Digest      Digest        `json:"digest"`
	Curve       groth16.Curve `json:"curve"`
	Vars        int           `json:"vars"`
	Public      int           `json:"public"`
	Constraints int           `json:"constraints"`
	Domain      int           `json:"domain"`
	Entries     int           `json:"entries"`
	Forgeable   bool          `json:"forgeable"`
	Wasm        bool          `json:"wasm"`
	R1CS        bool          `json:"r1cs"`
	Bytes       int64         `json:"bytes"` // of the prepared file
}

func (i *Info) Ref() Ref     { return Ref{i.Name, i.Digest} }
func (i *Info) Shape() Shape { return Shape{i.Curve, i.Vars} }

// Circuit is an open circuit of the catalogue.
type Circuit struct {
	Info
}

func (c *Circuit) Key() *groth16.ProvingKey                            { return nil }
func (c *Circuit) VerifyingKey() *groth16.VerifyingKey                 { return nil }
func (c *Circuit) Calculator(ctx context.Context) (*Calculator, error) { return nil, ErrNoCalculator }
func (c *Circuit) R1CSFile() *R1CS                                     { return nil } // nil if the circuit has none
func (c *Circuit) MappedBytes() int64                                  { return 0 }
func (c *Circuit) Close() error                                        { return nil }

// Files are the paths of what a circuit is added from; Wasm and R1CS may be empty.
type Files struct{ Zkey, Wasm, R1CS string }

// Catalogue is a directory with one folder per circuit. Any number of processes may use one at the same time.
type Catalogue struct{}

func OpenCatalogue(dir string) (*Catalogue, error) { return nil, errNotYet }
func (c *Catalogue) Add(ctx context.Context, name string, files Files, progress Progress) (*Info, error) {
	return nil, errNotYet
}

// List returns the circuits by name, and beside them an error for the entries that are broken.
func (c *Catalogue) List() ([]Info, error)          { return nil, errNotYet }
func (c *Catalogue) Info(ref Ref) (*Info, error)    { return nil, errNotYet }
func (c *Catalogue) Open(ref Ref) (*Circuit, error) { return nil, errNotYet }
func (c *Catalogue) Remove(name string) error       { return errNotYet }
func (c *Catalogue) Check(ctx context.Context, ref Ref, progress Progress) error {
	return errNotYet
}

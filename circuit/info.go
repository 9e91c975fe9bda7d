package circuit

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/pinion-zk/pinion/groth16"
)

// Info describes a circuit of the catalogue.
type Info struct {
	Name          string        `json:"name"`
	Digest        Digest        `json:"digest"`
	Curve         groth16.Curve `json:"curve"`
	Vars          int           `json:"vars"`        // wires, the constant one among them
	Public        int           `json:"public"`      // public wires without the constant one
	Constraints   int           `json:"constraints"` // of the circuit itself
	Domain        int           `json:"domain"`
	Entries       int           `json:"entries"`       // non-zero entries of the matrices A and B
	Contributions int           `json:"contributions"` // to the second phase of the set-up
	Forgeable     bool          `json:"forgeable"`     // gamma = delta: anyone can forge proofs
	HasWasm       bool          `json:"wasm"`          // has a witness calculator
	HasR1CS       bool          `json:"r1cs"`          // has its constraints
	Bytes         int64         `json:"bytes"`         // of the prepared key: what it takes of memory when all of it is used
}

// Ref is the circuit's name with its digest.
func (i *Info) Ref() Ref { return Ref{Name: i.Name, Digest: i.Digest} }

// Shape is what the circuit's witnesses must fit.
func (i *Info) Shape() Shape { return Shape{Curve: i.Curve, Vars: i.Vars} }

func newInfo(name string, p *Prepared, wasm, r1cs bool) Info {
	h := &p.header
	return Info{
		Name: name, Digest: h.digest, Curve: h.curve, Vars: h.vars, Public: h.public, Constraints: h.rows - h.public - 1,
		Domain: h.domain, Entries: h.entries[0] + h.entries[1], Contributions: h.contributions, Forgeable: p.vk.Forgeable(),
		HasWasm: wasm, HasR1CS: r1cs, Bytes: p.Bytes(),
	}
}

// maxInfo is far above the size of a circuit.json.
const maxInfo = 64 << 10

func readInfo(path string) (*Info, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxInfo+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxInfo {
		return nil, fmt.Errorf("%s: found more than %d bytes, expected a description of a circuit", infoFile, maxInfo)
	}
	var info Info
	if err := json.Unmarshal(text, &info); err != nil {
		return nil, fmt.Errorf("%s: %w", infoFile, err)
	}
	return &info, nil
}

package groth16

import "errors"

// ErrInvalidProof says that a well-formed proof does not prove the statement.
var ErrInvalidProof = errors.New("invalid proof")

// Proof is a Groth16 proof: points A in G1, B in G2, C in G1, each on the curve and in its subgroup. It is immutable.
type Proof struct {
	Curve Curve
	raw   []byte
}

// ParseProof decodes the compressed encoding: 128 bytes as gnark writes BN254, 192 bytes as bellman writes BLS12-381.
func ParseProof(c Curve, compressed []byte) (*Proof, error) { return nil, errors.New("not yet") }

// Bytes is the compressed encoding that ParseProof reads.
func (p *Proof) Bytes() []byte { return nil }

// Raw returns the uncompressed points A | B | C, big-endian, imaginary parts first, as gnark's WriteRawTo orders them.
func (p *Proof) Raw() []byte { return nil }

// MarshalJSON writes the proof.json of snarkjs.
func (p *Proof) MarshalJSON() ([]byte, error) { return nil, errors.New("not yet") }

// UnmarshalJSON reads the proof.json of snarkjs and rapidsnark.
func (p *Proof) UnmarshalJSON(data []byte) error { return errors.New("not yet") }

// Calldata is what snarkjs zkey export soliditycalldata prints. BN254 only.
func (p *Proof) Calldata(pub Public) (string, error) { return "", errors.New("not yet") }

// Public are the public signals: 32 bytes each, big-endian, without the constant one.
type Public []byte

// Len is the number of signals.
func (p Public) Len() int { return len(p) / ScalarSize }

// MarshalJSON writes the public.json of snarkjs.
func (p Public) MarshalJSON() ([]byte, error) { return nil, errors.New("not yet") }

// UnmarshalJSON reads the public.json of snarkjs.
func (p *Public) UnmarshalJSON(data []byte) error { return errors.New("not yet") }

// PublicFromWitness copies the n public signals out of a witness (32 bytes little-endian each, the constant one first).
func PublicFromWitness(witness []byte, n int) Public { return nil }

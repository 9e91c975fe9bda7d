package groth16

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Proof is a Groth16 proof: points A in G1, B in G2 and C in G1, each on the curve, in the subgroup and not at infinity.
// It is immutable. Its bytes are no identity: anyone can turn a proof into another one of the same statement.
type Proof struct {
	Curve Curve
	raw   []byte // A | B | C as in a ProvingKey
}

// ParseProof decodes the compressed encoding A | B | C: 128 bytes as gnark writes BN254, 192 bytes as bellman writes BLS12-381.
func ParseProof(c Curve, compressed []byte) (*Proof, error) {
	curve, err := c.backend()
	if err != nil {
		return nil, err
	}
	raw, err := curve.DecompressProof(compressed)
	if err != nil {
		return nil, fmt.Errorf("%v proof: %w", c, err)
	}
	return &Proof{Curve: c, raw: raw}, nil
}

// NewProof makes a proof of what a device computed: the points A | B | C as in a ProvingKey, copied. Each has to be on the curve, in
// the subgroup and not at infinity: what else a device gives is no proof, and must not become a good one by being compressed.
func NewProof(c Curve, points []byte) (*Proof, error) {
	if _, err := c.backend(); err != nil {
		return nil, err
	}
	if want := 2*c.G1Size() + c.G2Size(); len(points) != want {
		return nil, fmt.Errorf("%v proof: %d bytes, expected %d", c, len(points), want)
	}
	p := &Proof{Curve: c, raw: bytes.Clone(points)}
	pointA, pointB, pointC := p.split()
	for _, part := range []struct {
		name  string
		point []byte
		check func([]byte) (int, error)
	}{{"A", pointA, c.CheckG1}, {"B", pointB, c.CheckG2}, {"C", pointC, c.CheckG1}} {
		if isZero(part.point) {
			return nil, fmt.Errorf("%v proof: point %s is the point at infinity", c, part.name)
		}
		if _, err := part.check(part.point); err != nil {
			return nil, fmt.Errorf("%v proof: point %s: %w", c, part.name, err)
		}
	}
	return p, nil
}

// Bytes returns the compressed encoding, which ParseProof reads. The caller owns it.
func (p *Proof) Bytes() []byte {
	curve, err := p.Curve.backend()
	if err != nil {
		return nil
	}
	return curve.CompressProof(p.raw)
}

// Raw returns the uncompressed encoding A | B | C, coordinates big-endian, of G2 the imaginary part first: 256 bytes (what the EVM's
// precompiles take, gnark's MarshalSolidity) or 384. The caller owns it.
func (p *Proof) Raw() []byte {
	curve, err := p.Curve.backend()
	if err != nil {
		return nil
	}
	size := p.Curve.BaseSize()
	out := make([]byte, len(p.raw))
	// Coordinates: A.x, A.y, B.x.re, B.x.im, B.y.re, B.y.im, C.x, C.y.
	for to, from := range [8]int{0, 1, 3, 2, 5, 4, 6, 7} {
		curve.EncodeBase(out[to*size:(to+1)*size], p.raw[from*size:(from+1)*size])
	}
	return out
}

// jsonProof is snarkjs's proof.json.
type jsonProof struct {
	A        jsonG1 `json:"pi_a"`
	B        jsonG2 `json:"pi_b"`
	C        jsonG1 `json:"pi_c"`
	Protocol string `json:"protocol"`
	Curve    string `json:"curve"`
}

// split returns the points.
func (p *Proof) split() (a, b, c []byte) {
	g1, g2 := p.Curve.G1Size(), p.Curve.G2Size()
	return p.raw[:g1], p.raw[g1 : g1+g2], p.raw[g1+g2:]
}

// MarshalJSON writes snarkjs's proof.json.
func (p *Proof) MarshalJSON() ([]byte, error) {
	if len(p.raw) == 0 {
		return nil, errors.New("no proof to write")
	}
	out := jsonProof{Protocol: "groth16", Curve: p.Curve.String()}
	a, b, c := p.split()
	var err error
	if out.A, err = p.Curve.encodeG1(a); err != nil {
		return nil, err
	}
	if out.B, err = p.Curve.encodeG2(b); err != nil {
		return nil, err
	}
	if out.C, err = p.Curve.encodeG1(c); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads proof.json as snarkjs and rapidsnark write it; the latter names no curve and means BN254.
func (p *Proof) UnmarshalJSON(data []byte) error {
	var in jsonProof
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("proof: %w", err)
	}
	if in.Protocol != "groth16" {
		return fmt.Errorf("proof of protocol %q, expected groth16", in.Protocol)
	}
	curve := BN254
	if in.Curve != "" {
		var err error
		if curve, err = ParseCurve(in.Curve); err != nil {
			return fmt.Errorf("proof: %w", err)
		}
	}
	a, err := curve.decodeG1(in.A)
	if err != nil {
		return fmt.Errorf("proof: pi_a: %w", err)
	}
	b, err := curve.decodeG2(in.B)
	if err != nil {
		return fmt.Errorf("proof: pi_b: %w", err)
	}
	c, err := curve.decodeG1(in.C)
	if err != nil {
		return fmt.Errorf("proof: pi_c: %w", err)
	}
	for name, point := range map[string][]byte{"pi_a": a, "pi_b": b, "pi_c": c} {
		if isZero(point) {
			return fmt.Errorf("proof: %s is the point at infinity", name)
		}
	}
	*p = Proof{Curve: curve, raw: append(append(a, b...), c...)}
	return nil
}

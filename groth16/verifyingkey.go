package groth16

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
)

// ErrInvalidProof says that a well-formed proof does not prove its statement.
var ErrInvalidProof = errors.New("invalid proof")

var errNoProof = errors.New("no proof")

// VerifyingKey verifies the proofs of one circuit. It is immutable and safe for concurrent use.
type VerifyingKey struct {
	curve    Curve
	points   backend.VerifyingKey
	verifier func() (backend.Verifier, error) // made when it is first asked for: a pairing, and the lines of two points
}

// NewVerifyingKey makes a key of points as a zkey has them (see ProvingKey), which it checks and copies. ic has a point for the constant
// one and one for each public signal.
func NewVerifyingKey(c Curve, alpha1, beta2, gamma2, delta2, ic []byte) (*VerifyingKey, error) {
	curve, err := c.backend()
	if err != nil {
		return nil, err
	}
	if len(ic) == 0 {
		return nil, errors.New("verifying key: no IC points, expected at least 1")
	}
	for _, part := range []struct {
		name   string
		points []byte
		size   int
		check  func([]byte) (int, error)
	}{
		{"alpha1", alpha1, c.G1Size(), c.CheckG1},
		{"beta2", beta2, c.G2Size(), c.CheckG2},
		{"gamma2", gamma2, c.G2Size(), c.CheckG2},
		{"delta2", delta2, c.G2Size(), c.CheckG2},
		{"IC", ic, len(ic), c.CheckG1},
	} {
		if len(part.points) != part.size {
			return nil, fmt.Errorf("verifying key: %s has %d bytes, expected %d", part.name, len(part.points), part.size)
		}
		if i, err := part.check(part.points); err != nil {
			return nil, fmt.Errorf("verifying key: %s, point %d: %w", part.name, i, err)
		}
		if part.name != "IC" && isZero(part.points) {
			return nil, fmt.Errorf("verifying key: %s is the point at infinity", part.name)
		}
	}
	points := backend.VerifyingKey{
		Alpha1: slices.Clone(alpha1), Beta2: slices.Clone(beta2), Gamma2: slices.Clone(gamma2), Delta2: slices.Clone(delta2),
		IC: slices.Clone(ic),
	}
	verifier := sync.OnceValues(func() (backend.Verifier, error) { return curve.NewVerifier(&points) })
	return &VerifyingKey{curve: c, points: points, verifier: verifier}, nil
}

// Curve is the curve of the circuit.
func (vk *VerifyingKey) Curve() Curve { return vk.curve }

// Public is the number of public signals.
func (vk *VerifyingKey) Public() int { return len(vk.points.IC)/vk.curve.G1Size() - 1 }

// Gamma2 returns that point, a copy in the form of a zkey.
func (vk *VerifyingKey) Gamma2() []byte { return slices.Clone(vk.points.Gamma2) }

// IC returns copies of the points for the constant one and for each public signal.
func (vk *VerifyingKey) IC() []byte { return slices.Clone(vk.points.IC) }

// Forgeable tells whether anyone can make proofs of false statements: the key had no contribution to phase 2 of its setup,
// so that gamma and delta are the same.
func (vk *VerifyingKey) Forgeable() bool { return bytes.Equal(vk.points.Gamma2, vk.points.Delta2) }

// Verify returns nil if the proof proves the statement, ErrInvalidProof if it doesn't, and a *CurveError, *PublicCountError or
// *PublicRangeError if it can't be one for this circuit. Nil is no proof.
func (vk *VerifyingKey) Verify(proof *Proof, pub Public) error {
	if err := vk.check(proof, pub); err != nil {
		return err
	}
	verifier, err := vk.verifier()
	if err != nil {
		return fmt.Errorf("verifying key: %w", err)
	}
	ok, err := verifier.Verify(proof.raw, pub)
	if err != nil {
		return err
	}
	if !ok {
		return ErrInvalidProof
	}
	return nil
}

// VerifyAll verifies several proofs: 16 in a third of the time that they take one by one. It returns nil if all prove their statements,
// and else for each of them what Verify does. That a wrong one is taken for right has one chance in 2^128, from random numbers that
// nobody knows when the proofs are made.
func (vk *VerifyingKey) VerifyAll(proofs []*Proof, publics []Public) []error {
	if len(proofs) > 1 && vk.allRight(proofs, publics) {
		return nil
	}
	errs, wrong := make([]error, len(proofs)), false
	for i, proof := range proofs {
		errs[i] = vk.Verify(proof, publics[i])
		wrong = wrong || errs[i] != nil
	}
	if !wrong {
		return nil
	}
	return errs
}

func (vk *VerifyingKey) allRight(proofs []*Proof, publics []Public) bool {
	verifier, err := vk.verifier()
	if err != nil {
		return false
	}
	var points, signals [][]byte
	for i, proof := range proofs {
		if vk.check(proof, publics[i]) != nil {
			return false
		}
		points, signals = append(points, proof.raw), append(signals, publics[i])
	}
	right, err := verifier.VerifyAll(points, signals)
	return right && err == nil
}

// check says why the proof can't be one for this circuit.
func (vk *VerifyingKey) check(proof *Proof, pub Public) error {
	if proof == nil {
		return errNoProof
	}
	if proof.Curve != vk.curve {
		return &CurveError{Found: proof.Curve, Expected: vk.curve}
	}
	return pub.check(vk.curve, vk.Public())
}

// CurveError says that a proof is on another curve than its circuit.
type CurveError struct{ Found, Expected Curve }

func (e *CurveError) Error() string {
	return fmt.Sprintf("a proof on %v, expected %v", e.Found, e.Expected)
}

// jsonVerifyingKey is snarkjs's verification_key.json.
type jsonVerifyingKey struct {
	Protocol  string       `json:"protocol"`
	Curve     string       `json:"curve"`
	Public    *int         `json:"nPublic"`
	Alpha1    jsonG1       `json:"vk_alpha_1"`
	Beta2     jsonG2       `json:"vk_beta_2"`
	Gamma2    jsonG2       `json:"vk_gamma_2"`
	Delta2    jsonG2       `json:"vk_delta_2"`
	AlphaBeta [][][]string `json:"vk_alphabeta_12"`
	IC        []jsonG1     `json:"IC"`
}

// MarshalJSON writes snarkjs's verification_key.json.
func (vk *VerifyingKey) MarshalJSON() ([]byte, error) {
	if vk.verifier == nil {
		return nil, errors.New("no verifying key to write")
	}
	public := vk.Public()
	out := jsonVerifyingKey{Protocol: "groth16", Curve: vk.curve.String(), Public: &public}
	var err error
	if out.Alpha1, err = vk.curve.encodeG1(vk.points.Alpha1); err != nil {
		return nil, err
	}
	for _, part := range []struct {
		to   *jsonG2
		from []byte
	}{{&out.Beta2, vk.points.Beta2}, {&out.Gamma2, vk.points.Gamma2}, {&out.Delta2, vk.points.Delta2}} {
		if *part.to, err = vk.curve.encodeG2(part.from); err != nil {
			return nil, err
		}
	}
	for point := range slices.Chunk(vk.points.IC, vk.curve.G1Size()) {
		encoded, err := vk.curve.encodeG1(point)
		if err != nil {
			return nil, err
		}
		out.IC = append(out.IC, encoded)
	}
	if out.AlphaBeta, err = vk.alphaBeta(); err != nil {
		return nil, err
	}
	return json.Marshal(out)
}

// alphaBeta is the pairing of alpha and beta, as two times three pairs.
func (vk *VerifyingKey) alphaBeta() ([][][]string, error) {
	curve, err := vk.curve.backend()
	if err != nil {
		return nil, err
	}
	coordinates, err := curve.PairAlphaBeta(vk.points.Alpha1, vk.points.Beta2)
	if err != nil {
		return nil, err
	}
	var decimals []string
	for coordinate := range slices.Chunk(coordinates, vk.curve.BaseSize()) {
		decimals = append(decimals, formatDecimal(coordinate))
	}
	pairs := slices.Collect(slices.Chunk(decimals, 2))
	return [][][]string{pairs[:3:3], pairs[3:]}, nil
}

// UnmarshalJSON reads snarkjs's verification_key.json. Of hostile input it takes only points on the curve and in the subgroup;
// vk_alphabeta_12, which follows from the others, is not looked at.
func (vk *VerifyingKey) UnmarshalJSON(data []byte) error {
	var in jsonVerifyingKey
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("verifying key: %w", err)
	}
	if in.Protocol != "groth16" {
		return fmt.Errorf("verifying key of protocol %q, expected groth16", in.Protocol)
	}
	c, err := ParseCurve(in.Curve)
	if err != nil {
		return fmt.Errorf("verifying key: %w", err)
	}
	if in.Public == nil || *in.Public != len(in.IC)-1 {
		return fmt.Errorf("verifying key: %d IC points, expected nPublic and one more", len(in.IC))
	}
	alpha1, err := c.decodeG1(in.Alpha1)
	if err != nil {
		return fmt.Errorf("verifying key: vk_alpha_1: %w", err)
	}
	var g2 [3][]byte
	for i, part := range []struct {
		name  string
		point jsonG2
	}{{"vk_beta_2", in.Beta2}, {"vk_gamma_2", in.Gamma2}, {"vk_delta_2", in.Delta2}} {
		if g2[i], err = c.decodeG2(part.point); err != nil {
			return fmt.Errorf("verifying key: %s: %w", part.name, err)
		}
	}
	var ic []byte
	for i, encoded := range in.IC {
		point, err := c.decodeG1(encoded)
		if err != nil {
			return fmt.Errorf("verifying key: IC point %d: %w", i, err)
		}
		ic = append(ic, point...)
	}
	key, err := NewVerifyingKey(c, alpha1, g2[0], g2[1], g2[2], ic)
	if err != nil {
		return err
	}
	*vk = *key
	return nil
}

package bn254

import (
	"context"
	"slices"

	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
)

// verifier has what doesn't depend on the proof in e(A,B) = e(alpha,beta) e(public signals,gamma) e(C,delta).
type verifier struct {
	alphaBeta curve.GT
	fixed     []lines // of -gamma and -delta
	ic        []affineG1
}

// NewVerifier implements backend.Curve.
func (Curve) NewVerifier(key *backend.VerifyingKey) (backend.Verifier, error) {
	alphaBeta, err := curve.Pair([]affineG1{*pointG1(key.Alpha1)}, []affineG2{*pointG2(key.Beta2)})
	if err != nil {
		return nil, err
	}
	var gamma, delta affineG2
	gamma.Neg(pointG2(key.Gamma2))
	delta.Neg(pointG2(key.Delta2))
	return &verifier{
		alphaBeta: alphaBeta,
		fixed:     []lines{curve.PrecomputeLines(gamma), curve.PrecomputeLines(delta)},
		ic:        elements[affineG1](key.IC, len(key.IC)/g1Size),
	}, nil
}

// Verify implements backend.Verifier.
func (v *verifier) Verify(proof, public []byte) (bool, error) {
	signals := make([]fr.Element, len(v.ic))
	signals[0] = plainOne
	for i := range signals[1:] {
		signals[i+1] = limbs[fr.Element](public[i*fr.Bytes : (i+1)*fr.Bytes])
	}
	sum, err := sumOnce(v.ic, signals)
	if err != nil {
		return false, err
	}
	left, err := curve.MillerLoop([]affineG1{*pointG1(proof)}, []affineG2{*pointG2(proof[g1Size:])})
	if err != nil {
		return false, err
	}
	// MillerLoopFixedQ scales the lines in place: each call works on its own copy.
	right, err := curve.MillerLoopFixedQ([]affineG1{sum, *pointG1(proof[g1Size+g2Size:])}, slices.Clone(v.fixed))
	if err != nil {
		return false, err
	}
	product := curve.FinalExponentiation(&left, &right)
	return product.Equal(&v.alphaBeta), nil
}

// sumOnce returns the sum of scalars times points on the calling goroutine; the scalars are canonical.
func sumOnce(points []affineG1, scalars []fr.Element) (sum affineG1, err error) {
	var p plan
	p.make(scalars)
	m := msmG1{plan: &p, points: func() ([]affineG1, error) { return points, nil }}
	m.makeBits()
	w := &worker{adderG1: newAdderG1(blockFor(len(scalars), blockG1))}
	for _, task := range p.tasks {
		if err := m.sum(context.Background(), w, task); err != nil {
			return sum, err
		}
	}
	total := combineG1([][]affineG1{m.bits})
	sum.FromJacobian(&total)
	return sum, nil
}

// PairAlphaBeta implements backend.Curve.
func (Curve) PairAlphaBeta(alpha1, beta2 []byte) ([]byte, error) {
	pairing, err := curve.Pair([]affineG1{*pointG1(alpha1)}, []affineG2{*pointG2(beta2)})
	if err != nil {
		return nil, err
	}
	var out []byte
	for _, e := range []curve.E2{
		pairing.C0.B0, pairing.C0.B1, pairing.C0.B2,
		pairing.C1.B0, pairing.C1.B1, pairing.C1.B2,
	} {
		for _, coordinate := range []fp.Element{e.A0, e.A1} {
			canonical := coordinate.Bytes()
			out = append(out, canonical[:]...)
		}
	}
	return out, nil
}

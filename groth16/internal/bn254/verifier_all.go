package bn254

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"slices"

	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"
)

// weightBytes is the length of the random weights: one in 2^128 lets a wrong proof through.
const weightBytes = 16

// VerifyAll implements backend.Verifier. Each proof's equation, raised to a random weight w, is a factor of one equation:
//
//	product of e(w A, B) = e(alpha,beta)^(sum of w) e(sum of w times public signals,gamma) e(sum of w C,delta)
//
// All factors have prime order r. If an equation doesn't hold, then of r successive weights for it exactly one makes the product hold,
// so that of the 2^128 weights at most one does, whatever the others are (the small exponents test: Bellare, Garay, Rabin 1998). That
// holds as long as the weights are drawn after the proofs are known, and each time anew.
func (v *verifier) VerifyAll(proofs, publics [][]byte) (bool, error) {
	weights, err := drawWeights(len(proofs))
	if err != nil {
		return false, err
	}
	var sum fr.Element
	weightedA, b := make([]jacobianG1, len(proofs)), make([]affineG2, len(proofs))
	c, plain := make([]affineG1, len(proofs)), make([]fr.Element, len(proofs))
	for i, proof := range proofs {
		sum.Add(&sum, &weights[i])
		plain[i].Mul(&weights[i], &plainOne)
		var a jacobianG1
		a.FromAffine(pointG1(proof))
		weightedA[i].ScalarMultiplication(&a, weights[i].BigInt(new(big.Int)))
		b[i], c[i] = *pointG2(proof[g1Size:]), *pointG1(proof[g1Size+g2Size:])
	}
	left, err := curve.MillerLoop(curve.BatchJacobianToAffineG1(weightedA), b)
	if err != nil {
		return false, err
	}
	sumPublic, err := sumOnce(v.ic, weighedSignals(weights, sum, publics, len(v.ic)))
	if err != nil {
		return false, err
	}
	sumC, err := sumOnce(c, plain)
	if err != nil {
		return false, err
	}
	right, err := curve.MillerLoopFixedQ([]affineG1{sumPublic, sumC}, slices.Clone(v.fixed))
	if err != nil {
		return false, err
	}
	product := curve.FinalExponentiation(&left, &right)
	var want curve.GT
	want.CyclotomicExp(v.alphaBeta, sum.BigInt(new(big.Int)))
	return product.Equal(&want), nil
}

// drawWeights returns n random numbers below 2^128, in Montgomery form.
func drawWeights(n int) ([]fr.Element, error) {
	random := make([]byte, n*weightBytes)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("weights of proofs: %w", err)
	}
	weights := make([]fr.Element, n)
	for i := range weights {
		weights[i].SetBytes(random[i*weightBytes : (i+1)*weightBytes])
	}
	return weights, nil
}

// weighedSignals adds up the public signals of all proofs, each times its weight; canonical, and before them the sum of the weights,
// which goes with the constant one.
func weighedSignals(weights []fr.Element, sum fr.Element, publics [][]byte, n int) []fr.Element {
	signals := make([]fr.Element, n)
	signals[0].Mul(&sum, &plainOne)
	for i, public := range publics {
		for j := range signals[1:] {
			term := limbs[fr.Element](public[j*fr.Bytes : (j+1)*fr.Bytes])
			term.Mul(&term, &weights[i]) // one of the two is in Montgomery form, so the product isn't
			signals[j+1].Add(&signals[j+1], &term)
		}
	}
	return signals
}

package bn254

import (
	"context"
	"fmt"
	"math/big"
	"math/bits"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// secrets are what a setup must forget: gamma and delta are 1, and the domain is n.
type secrets struct {
	tau, alpha, beta fr.Element
	z                fr.Element // tau^n-1, the value of Z at tau
}

// draw draws secrets, all but zero; tau neither in the domain nor in the coset of H.
func (s *secrets) draw(n int, coset *fr.Element) error {
	for {
		for _, secret := range []*fr.Element{&s.tau, &s.alpha, &s.beta} {
			if _, err := secret.SetRandom(); err != nil {
				return err
			}
		}
		power, one := *new(fr.Element).Exp(s.tau, big.NewInt(int64(n))), fr.One()
		s.z.Sub(&power, &one)
		if !s.alpha.IsZero() && !s.beta.IsZero() && !s.tau.IsZero() && !s.z.IsZero() && !power.Equal(coset) {
			return nil
		}
	}
}

// Setup implements backend.Curve. See section 3.2 of https://eprint.iacr.org/2016/260.pdf; wire j has the exponents A_j = u_j(tau),
// B_j = v_j(tau), and C_j = beta u_j(tau) + alpha v_j(tau) + w_j(tau).
func (Curve) Setup(ctx context.Context, key *backend.ProvingKey, c backend.Matrix, coefficientsC backend.Section) (*backend.Setup, error) {
	shift := cosetShift(log2(key.Domain))
	coset := *new(fr.Element).Exp(shift, big.NewInt(int64(key.Domain)))
	var s secrets
	defer func() { s = secrets{} }()
	if err := s.draw(key.Domain, &coset); err != nil {
		return nil, err
	}
	u, v, w, err := s.wires(ctx, key, c, coefficientsC)
	if err != nil {
		return nil, err
	}
	parallel.Do(key.Vars, splitSize, func(lo, hi int) {
		var term fr.Vector = make([]fr.Element, hi-lo)
		u, v, w := u[lo:hi], v[lo:hi], w[lo:hi]
		term.ScalarMul(u, &s.beta)
		w.Add(w, term)
		term.ScalarMul(v, &s.alpha)
		w.Add(w, term)
		for _, x := range []fr.Vector{u, v, w} {
			x.ScalarMul(x, &plainOne)
		}
	})
	out := &backend.Setup{A: bytesOf(u), B: bytesOf(v), C: bytesOf(w)}
	if key.Powers {
		out.H = bytesOf(s.powersOfH(key.Domain))
	} else {
		out.H = bytesOf(s.oddCosetOfH(key.Domain, shift, coset))
	}
	s.points(out)
	return out, ctx.Err()
}

func (s *secrets) points(out *backend.Setup) {
	scalars := fr.Vector{s.alpha, s.beta, fr.One()}
	scalars.ScalarMul(scalars, &plainOne)
	g1, g2 := make([]affineG1, 3), make([]affineG2, 2)
	multiplesG1(g1, scalars)
	multiplesG2(g2, scalars[1:])
	clear(scalars)
	out.Alpha1, out.Beta1, out.Generator1 = bytesOf(g1[:1]), bytesOf(g1[1:2]), bytesOf(g1[2:])
	out.Beta2, out.Generator2 = bytesOf(g2[:1]), bytesOf(g2[1:])
}

// wires evaluates the polynomials of all wires at tau.
func (s *secrets) wires(ctx context.Context, key *backend.ProvingKey, c backend.Matrix, coefficientsC backend.Section) (u, v, w fr.Vector, err error) {
	var scale fr.Element
	scale.SetUint64(uint64(key.Domain)).Inverse(&scale).Mul(&scale, &s.z)
	basis := make(fr.Vector, key.Domain)
	s.lagrange(basis, fr.One(), scale)
	defer clear(basis)
	u, v, w = make(fr.Vector, key.Vars), make(fr.Vector, key.Vars), make(fr.Vector, key.Vars)
	for _, part := range []struct {
		name         string
		out          fr.Vector
		matrix       backend.Matrix
		coefficients backend.Section
	}{{"A", u, key.A, key.Coefficients}, {"B", v, key.B, key.Coefficients}, {"C", w, c, coefficientsC}} {
		if err = evaluateColumns(ctx, part.out, part.matrix, part.coefficients, basis[:key.Rows]); err != nil {
			return nil, nil, nil, fmt.Errorf("matrix %s: %w", part.name, err)
		}
	}
	return u, v, w, nil
}

func log2(n int) int { return bits.TrailingZeros(uint(n)) }

// lagrange sets out[i] to scale x/(tau-x), x being shift times the root to the power i.
func (s *secrets) lagrange(out fr.Vector, shift, scale fr.Element) {
	root := rootOfUnity(log2(len(out)))
	size := min(len(out), splitSize)
	steps := make(fr.Vector, size)
	powers(steps, root)
	parallel.Do(len(out), size, func(lo, hi int) {
		first := *new(fr.Element).Exp(root, big.NewInt(int64(lo)))
		first.Mul(&first, &shift)
		x, distance := out[lo:hi], make(fr.Vector, hi-lo)
		x.ScalarMul(steps[:hi-lo], &first)
		for i := range distance {
			distance[i].Sub(&s.tau, &x[i])
		}
		x.Mul(x, fr.BatchInvert(distance))
		x.ScalarMul(x, &scale)
	})
}

// oddCosetOfH returns the exponents of the Lagrange basis on the coset that shift^n = coset leads to: with them the values of ab-c give
// h(tau) Z(tau).
func (s *secrets) oddCosetOfH(n int, shift, coset fr.Element) fr.Vector {
	// Lagrange's polynomial i on the coset is (X^n-coset)/(n coset) x/(X-x), and Z is coset-1 there.
	var power, divisor, scale fr.Element
	one, size := fr.One(), fr.NewElement(uint64(n))
	power.Add(&s.z, &one)
	divisor.Sub(&coset, &one).Mul(&divisor, &coset).Mul(&divisor, &size)
	scale.Sub(&power, &coset).Mul(&scale, &s.z).Mul(&scale, divisor.Inverse(&divisor))
	h := make(fr.Vector, n)
	s.lagrange(h, shift, *scale.Mul(&scale, &plainOne))
	return h
}

// powersOfH returns tau^i Z(tau) for i up to n-2, and 0.
func (s *secrets) powersOfH(n int) fr.Vector {
	size := min(n, splitSize)
	h, steps := make(fr.Vector, n), make(fr.Vector, size)
	powers(steps, s.tau)
	parallel.Do(n, size, func(lo, hi int) {
		var first fr.Element
		first.Exp(s.tau, big.NewInt(int64(lo))).Mul(&first, &s.z).Mul(&first, &plainOne)
		part := h[lo:hi]
		part.ScalarMul(steps, &first)
	})
	clear(steps)
	h[n-1].SetZero()
	return h
}

package bn254

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// prover implements backend.Prover. What a proof writes to is in a scratch. It owns these: as many as it has made proofs at once.
type prover struct {
	key    *backend.ProvingKey
	domain *domain

	mu   sync.Mutex
	idle []*scratch // of proofs that are done
}

// NewProver implements backend.Curve.
func (Curve) NewProver(key *backend.ProvingKey) (backend.Prover, error) {
	return &prover{key: key, domain: newDomain(key.Domain)}, nil
}

// ProverBytes implements backend.Curve.
func (Curve) ProverBytes(key *backend.ProvingKey) (prover, proof int64) {
	return domainBytes(key.Domain), scratchBytes(key)
}

// take returns a scratch that no other proof uses.
func (p *prover) take() *scratch {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		s := p.idle[last]
		p.idle = p.idle[:last]
		return s
	}
	return newScratch(p.key)
}

// put takes a scratch back, cleared.
func (p *prover) put(s *scratch) {
	s.clear()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, s)
}

// Prove implements backend.Prover. The sums over the witness run beside the quotient h; when h is there, its sum joins them.
func (p *prover) Prove(ctx context.Context, in backend.Input) ([]byte, backend.Phases, error) {
	s := p.take()
	defer p.put(s)
	if in.Read == nil {
		in.Read = func() {}
	}
	a, b, err := s.operands(in, p.key.Domain)
	if err != nil {
		in.Read()
		return nil, backend.Phases{}, err
	}
	witness := elements[fr.Element](in.Witness, p.key.Vars)
	var reading sync.WaitGroup
	reading.Add(2)
	g, ctx := parallel.NewGroup(ctx)
	g.Go(func() error { reading.Wait(); in.Read(); return nil })
	sums := newSums(p.key, s)
	tasks := s.start(ctx, g, 2)
	var phases backend.Phases
	start := time.Now()
	g.Go(func() error {
		defer tasks.done()
		err := func() error {
			defer reading.Done()
			return p.quotient(ctx, a, b, s.c, witness, in.A == nil, &phases)
		}()
		if err != nil {
			return err
		}
		s.quotient.make(s.c)
		sums.h.give(ctx, tasks)
		return nil
	})
	g.Go(func() error {
		defer tasks.done()
		func() {
			defer reading.Done()
			s.witness.make(witness)
		}()
		sums.b2.give(ctx, tasks)
		for _, m := range []*msmG1{sums.b1, sums.a, sums.c} {
			m.give(ctx, tasks)
		}
		return nil
	})
	if err := g.Wait(); err != nil {
		return nil, backend.Phases{}, err
	}
	phases.MSM = time.Since(start)
	start = time.Now()
	proof, err := sums.finish(p.key)
	phases.Finish = time.Since(start)
	return proof, phases, err
}

// quotient leaves in c, canonical, what the points of H are multiplied by: the values of ab-c on the odd coset, or the coefficients of
// (ab-c)/Z. It overwrites a and b.
func (p *prover) quotient(ctx context.Context, a, b, c fr.Vector, witness []fr.Element, synthesis bool, phases *backend.Phases) error {
	start := time.Now()
	if synthesis {
		if err := synthesize(ctx, p.key, witness, a, b); err != nil {
			return err
		}
		phases.Synthesis = time.Since(start)
		start = time.Now()
	}
	parallel.Do(len(c), splitSize, func(lo, hi int) {
		part := c[lo:hi]
		part.Mul(a[lo:hi], b[lo:hi])
	})
	transforms, ctx := parallel.NewGroup(ctx)
	for _, v := range []fr.Vector{a, b, c} {
		transforms.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			p.domain.toCoset(v)
			return nil
		})
	}
	if err := transforms.Wait(); err != nil {
		return err
	}
	parallel.Do(len(c), splitSize, func(lo, hi int) {
		h, a := c[lo:hi], a[lo:hi]
		a.Mul(a, b[lo:hi])
		h.Sub(a, h)
		if !p.key.Powers {
			h.ScalarMul(h, &plainOne)
		}
	})
	if p.key.Powers {
		factor := p.domain.inverseZ()
		p.domain.fromCoset(c, factor.Mul(&factor, &plainOne))
	} else {
		slices.Reverse(c[1:]) // toCoset leaves the value for point -i mod n in place i
	}
	phases.NTT = time.Since(start)
	return nil
}

// errInfinity can't happen but by a chance of 2^-250, or with a key that no setup makes.
var errInfinity = errors.New("the key gives a proof with the point at infinity")

// sums are the five sums of a proof: three in G1 and one in G2 over the witness, one in G1 over the quotient.
type sums struct {
	a, b1, c, h *msmG1
	b2          *msmG2
}

func newSums(key *backend.ProvingKey, s *scratch) *sums {
	return &sums{
		a:  newMSMG1(&s.witness, 0, key.PointsA),
		b1: newMSMG1(&s.witness, 0, key.PointsB1),
		b2: newMSMG2(&s.witness, 0, key.PointsB2),
		c:  newMSMG1(&s.witness, key.Public+1, key.PointsC),
		h:  newMSMG1(&s.quotient, 0, key.PointsH),
	}
}

// finish blinds the sums and puts the proof together:
//
//	A = alpha + a + r delta
//	B = beta + b + s delta, in G2 and as B1 in G1
//	C = c + h + s A + r B1 - r s delta
func (t *sums) finish(key *backend.ProvingKey) ([]byte, error) {
	var r, s fr.Element
	if _, err := r.SetRandom(); err != nil {
		return nil, err
	}
	if _, err := s.SetRandom(); err != nil {
		return nil, err
	}
	var minusRS fr.Element
	minusRS.Mul(&r, &s).Neg(&minusRS)
	delta1, delta2 := pointG1(key.Delta1), pointG2(key.Delta2)
	var pa, pb1, pc affineG1
	var pb2 affineG2
	parallel.Both(func() {
		b2 := combineG2([][]affineG2{t.b2.bits}, multipleG2{delta2, s.Bits()})
		b2.AddMixed(pointG2(key.Beta2))
		pb2.FromJacobian(&b2)
	}, func() {
		a := combineG1([][]affineG1{t.a.bits}, multipleG1{delta1, r.Bits()})
		a.AddMixed(pointG1(key.Alpha1))
		pa.FromJacobian(&a)
		b1 := combineG1([][]affineG1{t.b1.bits}, multipleG1{delta1, s.Bits()})
		b1.AddMixed(pointG1(key.Beta1))
		pb1.FromJacobian(&b1)
		c := combineG1([][]affineG1{t.c.bits, t.h.bits},
			multipleG1{&pa, s.Bits()}, multipleG1{&pb1, r.Bits()}, multipleG1{delta1, minusRS.Bits()})
		pc.FromJacobian(&c)
	})
	if pa.IsInfinity() || pb2.IsInfinity() || pc.IsInfinity() {
		return nil, errInfinity
	}
	return joinProof(&pa, &pb2, &pc), nil
}

package bn254

import (
	"context"
	"fmt"
	"testing"

	"github.com/consensys/gnark-crypto/ecc"
	curve "github.com/consensys/gnark-crypto/ecc/bn254"
	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// memory is a section that is not checked.
type memory []byte

func (m memory) Len() int                         { return len(m) }
func (m memory) Range(lo, hi int) ([]byte, error) { return m[lo:hi], nil }

// shapes are the kinds of witnesses: how value i is made.
var shapes = map[string]func(i int) fr.Element{
	"dense":     func(int) fr.Element { return random() },
	"zero":      func(int) fr.Element { return fr.Element{} },
	"one":       func(int) fr.Element { return fr.One() },
	"minus one": func(int) (e fr.Element) { one := fr.One(); return *e.Neg(&one) },
	"small":     func(i int) fr.Element { return fr.NewElement(uint64(i * i)) },
	"sparse": func(i int) fr.Element {
		if i%10 == 0 {
			return random()
		}
		return fr.NewElement(uint64(i % 2))
	},
	"edges": func(i int) (e fr.Element) { // around powers of two, where carries run
		e.Exp(fr.NewElement(2), bigInt(i%256))
		one := fr.One()
		return *e.Sub(&e, &one)
	},
}

func random() (e fr.Element) {
	e.MustSetRandom()
	return e
}

func TestMSMAgreesWithGnarkCrypto(t *testing.T) {
	const most = 3000
	_, _, base1, base2 := curve.Generators()
	multiples := make([]fr.Element, most) // equal, opposite and infinite points among them
	for i := range multiples {
		multiples[i] = fr.NewElement(uint64(i / 2 % 100))
		if i%3 == 0 {
			multiples[i].Neg(&multiples[i])
		}
	}
	g1 := curve.BatchScalarMultiplicationG1(&base1, multiples)
	g2 := curve.BatchScalarMultiplicationG2(&base2, multiples)
	for name, value := range shapes {
		for _, n := range []int{1, 2, 3, 21, 30, 300, most} {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				scalars := make([]fr.Element, n)
				for i := range scalars {
					scalars[i] = value(i)
				}
				checkMSM(t, scalars, g1[:n], g2[:n], 0)
				checkMSM(t, scalars, g1[n/2:n], g2[n/2:n], n/2)
			})
		}
	}
}

// checkMSM compares sums from scalar first on with gnark-crypto's.
func checkMSM(t *testing.T, scalars []fr.Element, g1 []curve.G1Affine, g2 []curve.G2Affine, first int) {
	t.Helper()
	canonical := make([]fr.Element, len(scalars))
	for i := range scalars {
		canonical[i] = fr.Element(scalars[i].Bits())
	}
	var p plan
	p.make(canonical)
	s := scratch{workers: []*worker{{adderG1: newAdderG1(blockFor(len(scalars), 80)), adderG2: newAdderG2(blockFor(len(scalars), 80))}}}
	m1, m2 := newMSMG1(&p, first, memory(bytesOf(g1))), newMSMG2(&p, first, memory(bytesOf(g2)))
	g, ctx := parallel.NewGroup(context.Background())
	tasks := s.start(ctx, g, 1)
	m1.give(ctx, tasks)
	m2.give(ctx, tasks)
	tasks.done()
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	var want1 curve.G1Jac
	var want2 curve.G2Jac
	if _, err := want1.MultiExp(g1, scalars[first:], ecc.MultiExpConfig{}); err != nil {
		t.Fatal(err)
	}
	if _, err := want2.MultiExp(g2, scalars[first:], ecc.MultiExpConfig{}); err != nil {
		t.Fatal(err)
	}
	if got := combineG1([][]affineG1{m1.bits}); !got.Equal(&want1) {
		t.Errorf("G1: a wrong sum")
	}
	if got := combineG2([][]affineG2{m2.bits}); !got.Equal(&want2) {
		t.Errorf("G2: a wrong sum")
	}
}

var _ backend.Section = memory(nil)

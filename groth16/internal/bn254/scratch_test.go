package bn254

import (
	"context"
	"fmt"
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bn254/fr"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
)

// used adds up what a scratch holds.
func (s *scratch) used() (bytes int64) {
	elements := cap(s.a) + cap(s.b) + cap(s.c)
	words := 0
	for _, p := range []*plan{&s.witness, &s.quotient} {
		elements += cap(p.scalars)
		words += cap(p.live) + cap(p.wide) + cap(p.terms) + cap(p.starts)
		words += cap(p.grid.lines.terms) + cap(p.grid.lines.starts)
	}
	bytes = int64(elements*fr.Bytes + words*4)
	for _, w := range s.workers {
		for _, v := range []vectorG1{w.adderG1.x, w.adderG1.y, w.adderG1.x1, w.adderG1.y1, w.adderG1.x2, w.adderG1.y2,
			w.adderG1.slope, w.adderG1.run, w.adderG1.tree, w.adderG1.swap} {
			bytes += int64(cap(v.v)) * int64(unsafe.Sizeof(fieldG1{}))
		}
		for _, v := range []vectorG2{w.adderG2.x, w.adderG2.y, w.adderG2.x1, w.adderG2.y1, w.adderG2.x2, w.adderG2.y2,
			w.adderG2.slope, w.adderG2.run, w.adderG2.tree, w.adderG2.swap} {
			bytes += int64(cap(v.re)) * int64(unsafe.Sizeof(fieldG2{}))
		}
		bytes += int64(cap(w.bucketsG1)+cap(w.adderG1.lines)) * g1Size
		bytes += int64(cap(w.bucketsG2)+cap(w.adderG2.lines)) * g2Size
	}
	return bytes
}

// emptyKey is a key whose points are all at infinity and whose matrices are empty.
func emptyKey(n int) *backend.ProvingKey {
	g1, g2 := memory(make([]byte, n*g1Size)), memory(make([]byte, n*g2Size))
	none := backend.Matrix{Starts: memory(make([]byte, 4*(n+1))), Columns: memory(nil), Values: memory(nil)}
	point1, point2 := bytesOf(make([]affineG1, 1)), bytesOf(make([]affineG2, 1))
	return &backend.ProvingKey{
		Vars: n, Domain: n, Rows: n, A: none, B: none, Coefficients: memory(nil),
		Alpha1: point1, Beta1: point1, Delta1: point1, Beta2: point2, Delta2: point2,
		PointsA: g1, PointsB1: g1, PointsB2: g2, PointsC: g1[g1Size:], PointsH: g1,
	}
}

func TestScratchStaysWithinItsBoundAndIsCleared(t *testing.T) {
	for _, n := range []int{1, 2, 64, 4096, 1 << 14} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			created, err := Curve{}.NewProver(emptyKey(n))
			if err != nil {
				t.Fatal(err)
			}
			p := created.(*prover)
			s := newScratch(p.key)
			p.idle = append(p.idle, s)
			for _, name := range []string{"dense", "small", "sparse", "zero", "edges"} {
				witness := make([]fr.Element, n)
				for i := range witness {
					e := shapes[name](i)
					witness[i] = fr.Element(e.Bits())
				}
				if _, _, err := p.Prove(context.Background(), backend.Input{Witness: bytesOf(witness)}); err != errInfinity {
					t.Fatalf("error %v, expected %v", err, errInfinity)
				}
				if len(p.idle) != 1 || p.idle[0] != s {
					t.Fatalf("%s: %d scratches, expected the one that there was", name, len(p.idle))
				}
				if used, bound := s.used(), scratchBytes(p.key); used > bound {
					t.Errorf("%s: %d bytes, more than %d", name, used, bound)
				}
				for _, v := range [][]fr.Element{s.a[:cap(s.a)], s.b[:cap(s.b)], s.c[:cap(s.c)], s.witness.scalars, s.quotient.scalars} {
					for i := range v {
						if !v[i].IsZero() {
							t.Fatalf("%s: element %d is left", name, i)
						}
					}
				}
				for _, words := range [][]uint32{s.witness.live, s.witness.wide, s.witness.terms, s.witness.starts} {
					for _, w := range words[:cap(words)] {
						if w != 0 {
							t.Fatalf("%s: indices are left", name)
						}
					}
				}
			}
		})
	}
}

package groth16

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"testing"
)

// several are proofs of one statement, each with its own blinding, and its public signals as often.
func several(t testing.TB, s *statement, n int) (proofs []*Proof, publics []Public) {
	t.Helper()
	for range n {
		proofs, publics = append(proofs, prove(t, s, Input{})), append(publics, s.public())
	}
	return proofs, publics
}

// shifted is the signals with n added to the first.
func shifted(c Curve, public Public, n int64) Public {
	first := new(big.Int).SetBytes(public[:ScalarSize])
	first.Add(first, big.NewInt(n)).Mod(first, c.ScalarModulus()).FillBytes(public[:ScalarSize])
	return public
}

func TestVerifyAll(t *testing.T) {
	const n = 5
	for _, c := range curves {
		s := newStatement(t, 3, shape{curve: c, public: 3, private: 5, products: 4})
		rights, _ := several(t, s, n)
		other := curves[0]
		if c == other {
			other = curves[1]
		}
		for name, test := range map[string]struct {
			spoil func(proofs []*Proof, publics []Public)
			wrong []int
		}{
			"right": {func([]*Proof, []Public) {}, nil},
			"one wrong": {func(p []*Proof, _ []Public) {
				_, _, pointC := p[0].split()
				a, b, _ := p[n-1].split()
				p[n-1] = &Proof{Curve: c, raw: slices.Concat(a, b, pointC)}
			}, []int{n - 1}},
			// Each of these would pass if all weights were the same.
			"C exchanged": {func(p []*Proof, _ []Public) {
				a1, b1, c1 := p[1].split()
				a2, b2, c2 := p[3].split()
				p[1], p[3] = &Proof{Curve: c, raw: slices.Concat(a1, b1, c2)}, &Proof{Curve: c, raw: slices.Concat(a2, b2, c1)}
			}, []int{1, 3}},
			"signals that make up for each other": {func(_ []*Proof, publics []Public) {
				shifted(c, publics[0], 1)
				shifted(c, publics[2], -1)
			}, []int{0, 2}},
			"proofs exchanged for others of the statement": {func(p []*Proof, _ []Public) { p[0], p[4] = p[4], p[0] }, nil},
			"all wrong": {func(_ []*Proof, publics []Public) {
				for i := range publics {
					shifted(c, publics[i], int64(i)+1)
				}
			}, []int{0, 1, 2, 3, 4}},
			"another curve":     {func(p []*Proof, _ []Public) { p[2] = &Proof{Curve: other, raw: p[2].raw} }, []int{2}},
			"a signal too few":  {func(_ []*Proof, publics []Public) { publics[3] = publics[3][ScalarSize:] }, []int{3}},
			"no proof":          {func(p []*Proof, _ []Public) { p[4] = nil }, []int{4}},
			"no signals at all": {func(_ []*Proof, publics []Public) { publics[0] = nil }, []int{0}},
		} {
			t.Run(fmt.Sprintf("%v/%s", c, name), func(t *testing.T) {
				proofs, publics := slices.Clone(rights), make([]Public, n)
				for i := range publics {
					publics[i] = s.public()
				}
				test.spoil(proofs, publics)
				if s.vk.allRight(proofs, publics) != (test.wrong == nil) { // else each is verified by itself
					t.Errorf("taken together for right: %v", test.wrong != nil)
				}
				errs := s.vk.VerifyAll(proofs, publics)
				if test.wrong == nil {
					if errs != nil {
						t.Errorf("right proofs refused: %v", errs)
					}
					return
				}
				if len(errs) != n {
					t.Fatalf("%d errors, expected one for each of %d proofs: %v", len(errs), n, errs)
				}
				for i, err := range errs {
					alone := s.vk.Verify(proofs[i], publics[i])
					if (err != nil) != slices.Contains(test.wrong, i) || fmt.Sprint(err) != fmt.Sprint(alone) {
						t.Errorf("proof %d: %v, by itself %v", i, err, alone)
					}
				}
			})
		}
	}
}

func TestVerifyAllOfFew(t *testing.T) {
	s := newStatement(t, 3, shape{curve: BN254, private: 2, products: 1}) // no public signals
	proofs, publics := several(t, s, 2)
	for n := range 3 {
		if errs := s.vk.VerifyAll(proofs[:n], publics[:n]); errs != nil {
			t.Errorf("%d proofs: %v", n, errs)
		}
	}
	_, _, other := proofs[1].split()
	a, b, _ := proofs[0].split()
	proofs[0] = &Proof{Curve: BN254, raw: slices.Concat(a, b, other)}
	if errs := s.vk.VerifyAll(proofs[:1], publics[:1]); len(errs) != 1 || !errors.Is(errs[0], ErrInvalidProof) {
		t.Errorf("one wrong proof alone: %v", errs)
	}
}

// BenchmarkVerify checks proofs one by one and all at once; an operation is one proof.
func BenchmarkVerify(b *testing.B) {
	for _, c := range curves {
		s := newStatement(b, 3, shape{curve: c, public: 4, private: 5, products: 4})
		all, publics := several(b, s, 64)
		b.Run(fmt.Sprintf("%v/alone", c), func(b *testing.B) {
			for i := range b.N {
				if err := s.vk.Verify(all[i%len(all)], publics[0]); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, n := range []int{1, 4, 8, 16, 64} {
			b.Run(fmt.Sprintf("%v/together-%d", c, n), func(b *testing.B) {
				for done := 0; done < b.N; done += n {
					if errs := s.vk.VerifyAll(all[:n], publics[:n]); errs != nil {
						b.Fatal(errs)
					}
				}
			})
		}
	}
}

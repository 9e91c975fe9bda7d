package groth16

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var curves = []Curve{BN254, BLS12381}

func prove(t testing.TB, s *statement, in Input) *Proof {
	t.Helper()
	p, err := NewProver(s.pk)
	if err != nil {
		t.Fatal(err)
	}
	in.Witness = s.witness
	proof, _, err := p.Prove(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return proof
}

func TestProofsVerify(t *testing.T) {
	ones := func(*rand.Rand, int) int64 { return 1 }
	zeros := func(*rand.Rand, int) int64 { return 0 }
	mixed := func(r *rand.Rand, i int) int64 { return []int64{0, 1, -1, 77, -300, 0, 1}[i%7] }
	shapes := map[string]shape{
		"domain 1: nothing but the constant":          {},
		"domain 2: one private wire":                  {private: 1},
		"domain 4: all wires public, no C":            {public: 1},
		"domain 4: a product, none public":            {private: 1, products: 1},
		"domain 8: all wires public":                  {public: 3},
		"domain 16":                                   {public: 2, private: 4, products: 3},
		"domain 128, dense":                           {public: 1, private: 50, products: 40},
		"domain 128, all one":                         {public: 1, private: 50, products: 40, value: ones},
		"domain 128, all zero":                        {public: 1, private: 50, products: 40, value: zeros},
		"domain 1024, sparse":                         {public: 20, private: 600, products: 300, value: mixed},
		"powers, domain 1":                            {quotient: Powers},
		"powers, domain 2":                            {private: 1, quotient: Powers},
		"powers, domain 16, one more":                 {public: 2, private: 4, products: 4, quotient: Powers},
		"powers, domain 128, dense":                   {public: 1, private: 50, products: 40, quotient: Powers},
		"domain 256, dense, a key with gamma = delta": {public: 60, private: 40, products: 50, forgeable: true},
	}
	for name, s := range shapes {
		for _, c := range curves {
			t.Run(fmt.Sprintf("%s/%v", name, c), func(t *testing.T) {
				s.curve = c
				statement := newStatement(t, 1, s)
				proof := prove(t, statement, Input{})
				if err := statement.vk.Verify(proof, statement.public()); err != nil {
					t.Fatal(err)
				}
				if statement.vk.Forgeable() != s.forgeable {
					t.Errorf("forgeable: %v", statement.vk.Forgeable())
				}
				if again := prove(t, statement, Input{}); bytes.Equal(again.Bytes(), proof.Bytes()) {
					t.Error("two proofs of one witness are equal: no blinding")
				}
			})
		}
	}
}

func TestProofOfUnsatisfiedWitnessIsInvalid(t *testing.T) {
	for _, c := range curves {
		s := newStatement(t, 2, shape{curve: c, public: 1, private: 5, products: 5, unsatisfied: true})
		if err := s.vk.Verify(prove(t, s, Input{}), s.public()); !errors.Is(err, ErrInvalidProof) {
			t.Errorf("%v: %v, expected %v", c, err, ErrInvalidProof)
		}
	}
}

func TestProveFromSynthesizedVectors(t *testing.T) {
	for _, c := range curves {
		s := newStatement(t, 3, shape{curve: c, public: 2, private: 30, products: 30})
		a, b := make([]byte, s.pk.Domain*ScalarSize), bytes.Repeat([]byte{0xff}, s.pk.Domain*ScalarSize)
		if err := s.pk.Synthesize(context.Background(), s.witness, a, b); err != nil {
			t.Fatal(err)
		}
		if used := s.pk.Rows * ScalarSize; !isZero(a[used:]) || !isZero(b[used:]) {
			t.Errorf("%v: the vectors are not padded with zeros", c)
		}
		reads := 0
		proof := prove(t, s, Input{A: a, B: b, Read: func() { reads++ }})
		if err := s.vk.Verify(proof, s.public()); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		if reads != 1 {
			t.Errorf("%v: Read was called %d times, expected once", c, reads)
		}
	}
}

// TestConcurrentProofs is how provers with shared state fail: 32 proofs of 4 circuits at once, with different witnesses.
func TestConcurrentProofs(t *testing.T) {
	var wg sync.WaitGroup
	for i, s := range []shape{
		{curve: BN254, public: 1, private: 40, products: 40},
		{curve: BN254, public: 5, private: 200, products: 100},
		{curve: BLS12381, public: 1, private: 40, products: 40},
		{curve: BLS12381, private: 100, products: 20},
	} {
		statement := newStatement(t, uint64(i), s)
		prover, err := NewProver(statement.pk)
		if err != nil {
			t.Fatal(err)
		}
		for range 8 {
			wg.Go(func() {
				proof, _, err := prover.Prove(context.Background(), Input{Witness: statement.witness})
				if err == nil {
					err = statement.vk.Verify(proof, statement.public())
				}
				if err != nil {
					t.Errorf("circuit %d: %v", i, err)
				}
			})
		}
	}
	wg.Wait()
}

func TestProveRefusesBadInput(t *testing.T) {
	s := newStatement(t, 4, shape{curve: BN254, public: 1, private: 2, products: 2})
	p, err := NewProver(s.pk)
	if err != nil {
		t.Fatal(err)
	}
	change := func(f func(w []byte)) []byte { w := slices.Clone(s.witness); f(w); return w }
	vector := make([]byte, s.pk.Domain*ScalarSize)
	tests := map[string]struct {
		in   Input
		want string
	}{
		"short":     {Input{Witness: s.witness[1:]}, "a witness of 191 bytes, expected 6 wires of 32 bytes"},
		"value r":   {Input{Witness: change(func(w []byte) { copy(w[64:], littleEndian(BN254.ScalarModulus())) })}, "witness value 2: not below the order of the scalar field"},
		"no one":    {Input{Witness: change(func(w []byte) { w[0] = 2 })}, "witness value 0 is not 1"},
		"only a":    {Input{Witness: s.witness, A: vector}, "one of a and b without the other"},
		"short b":   {Input{Witness: s.witness, A: vector, B: vector[32:]}, "a vector of 224 bytes, expected 8 elements of 32 bytes"},
		"unaligned": {Input{Witness: s.witness, A: make([]byte, len(vector)+1)[1:], B: vector}, "a buffer for field elements is not aligned to 8 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			reads := 0
			test.in.Read = func() { reads++ }
			_, _, err := p.Prove(context.Background(), test.in)
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v, expected %s", err, test.want)
			}
			if reads != 1 {
				t.Errorf("Read was called %d times, expected once", reads)
			}
		})
	}
}

func TestNewProverRefusesKeysOfTheWrongSize(t *testing.T) {
	tests := map[string]struct {
		change func(pk *ProvingKey)
		want   string
	}{
		"curve":  {func(pk *ProvingKey) { pk.Curve = 0 }, "proving key: unknown curve 0"},
		"domain": {func(pk *ProvingKey) { pk.Domain = 6 }, "proving key: a domain of 6, expected a power of two up to 268435456"},
		"rows":   {func(pk *ProvingKey) { pk.Rows = 9 }, "proving key: 9 rows in a domain of 8"},
		"public": {func(pk *ProvingKey) { pk.Public = 6 }, "proving key: 6 public wires of 6"},
		"C":      {func(pk *ProvingKey) { pk.PointsC = Section{} }, "proving key: points C: 0 bytes, expected 256"},
		"starts": {func(pk *ProvingKey) { pk.A.Starts = Section{} }, "proving key: starts of A: 0 bytes, expected 32"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStatement(t, 4, shape{curve: BN254, public: 1, private: 2, products: 2})
			test.change(s.pk)
			if _, err := NewProver(s.pk); err == nil || err.Error() != test.want {
				t.Errorf("error %v, expected %s", err, test.want)
			}
			if _, _, err := s.pk.ProverBytes(); err == nil || err.Error() != test.want {
				t.Errorf("its size: error %v, expected %s", err, test.want)
			}
		})
	}
}

func TestSynthesizeRefusesBadMatrices(t *testing.T) {
	tests := map[string]struct {
		change func(m *Matrix)
		want   string
	}{
		"column": {func(m *Matrix) { binary.LittleEndian.PutUint32(m.Columns.data, 6) }, "matrix A: row 0: column 6 of 6 with coefficient 0 of "},
		"value":  {func(m *Matrix) { binary.LittleEndian.PutUint32(m.Values.data, 1000) }, "matrix A: row 0: column 1 of 6 with coefficient 1000 of "},
		"order":  {func(m *Matrix) { binary.LittleEndian.PutUint32(m.Starts.data[4:], 1<<31) }, "matrix A: row 0: its entries are out of order"},
		"past":   {func(m *Matrix) { binary.LittleEndian.PutUint32(m.Starts.data[4*7:], 1<<31) }, "matrix A: rows 0 to 7: entries 0 to 2147483648 of "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newStatement(t, 4, shape{curve: BN254, public: 1, private: 2, products: 2})
			test.change(&s.pk.A)
			a, b := make([]byte, s.pk.Domain*ScalarSize), make([]byte, s.pk.Domain*ScalarSize)
			err := s.pk.Synthesize(context.Background(), s.witness, a, b)
			if err == nil || !bytes.HasPrefix([]byte(err.Error()), []byte(test.want)) {
				t.Errorf("error %v, expected %s", err, test.want)
			}
		})
	}
}

var errDamaged = errors.New("damaged")

// TestDamagedSections fails the reading of each part of the key in turn.
func TestDamagedSections(t *testing.T) {
	parts := map[string]func(pk *ProvingKey) *Section{
		"A": func(pk *ProvingKey) *Section { return &pk.PointsA }, "B1": func(pk *ProvingKey) *Section { return &pk.PointsB1 },
		"B2": func(pk *ProvingKey) *Section { return &pk.PointsB2 }, "C": func(pk *ProvingKey) *Section { return &pk.PointsC },
		"H": func(pk *ProvingKey) *Section { return &pk.PointsH }, "columns": func(pk *ProvingKey) *Section { return &pk.B.Columns },
		"coefficients": func(pk *ProvingKey) *Section { return &pk.Coefficients },
	}
	for name, part := range parts {
		t.Run(name, func(t *testing.T) {
			s := newStatement(t, 5, shape{curve: BLS12381, public: 1, private: 5, products: 5})
			damaged := part(s.pk)
			damaged.touch = func(lo, hi int) error { return errDamaged }
			p, err := NewProver(s.pk)
			if err != nil {
				t.Fatal(err)
			}
			if _, _, err := p.Prove(context.Background(), Input{Witness: s.witness}); !errors.Is(err, errDamaged) {
				t.Errorf("error %v, expected %v", err, errDamaged)
			}
		})
	}
}

// TestPanics has the reading of parts of the key panic, on different goroutines: the prover still works afterwards.
func TestPanics(t *testing.T) {
	s := newStatement(t, 5, shape{curve: BN254, public: 1, private: 5, products: 5})
	for _, part := range []*Section{&s.pk.PointsA, &s.pk.PointsB2, &s.pk.PointsH, &s.pk.A.Columns, &s.pk.Coefficients} {
		var damaged atomic.Bool
		part.touch = func(lo, hi int) error {
			if damaged.Load() {
				panic("a secret")
			}
			return nil
		}
		p, err := NewProver(s.pk)
		if err != nil {
			t.Fatal(err)
		}
		damaged.Store(true)
		reads := 0
		_, _, err = p.Prove(context.Background(), Input{Witness: s.witness, Read: func() { reads++ }})
		var found *PanicError
		if !errors.As(err, &found) || found.Type != "string" || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v, expected a panic of a string", err)
		}
		if reads != 1 {
			t.Errorf("Read was called %d times, expected once", reads)
		}
		damaged.Store(false)
		proof, _, err := p.Prove(context.Background(), Input{Witness: s.witness})
		if err == nil {
			err = s.vk.Verify(proof, s.public())
		}
		if err != nil {
			t.Errorf("after the panic: %v", err)
		}
		part.touch = nil
	}
}

// TestCancel cancels when each part of the key is read: the proof ends with the context's error, and the prover still works.
func TestCancel(t *testing.T) {
	s := newStatement(t, 6, shape{curve: BN254, public: 1, private: 100, products: 100})
	var cancel atomic.Pointer[context.CancelFunc]
	for _, part := range []*Section{&s.pk.Coefficients, &s.pk.B.Columns, &s.pk.PointsA, &s.pk.PointsB2, &s.pk.PointsH} {
		part.touch = func(lo, hi int) error {
			if c := cancel.Load(); c != nil {
				(*c)()
			}
			return nil
		}
		p, err := NewProver(s.pk)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(context.Background())
		cancel.Store(&stop)
		if _, _, err := p.Prove(ctx, Input{Witness: s.witness}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, expected %v", err, context.Canceled)
		}
		cancel.Store(nil)
		proof, _, err := p.Prove(context.Background(), Input{Witness: s.witness})
		if err == nil {
			err = s.vk.Verify(proof, s.public())
		}
		if err != nil {
			t.Errorf("after cancellation: %v", err)
		}
		part.touch = nil
	}
}

func BenchmarkProve(b *testing.B) {
	for _, c := range curves {
		for _, wires := range []int{500, 2000, 8000} {
			s := newStatement(b, 7, shape{curve: c, public: 4, private: wires / 2, products: wires / 2})
			p, err := NewProver(s.pk)
			if err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprintf("%v/%d", c, wires), func(b *testing.B) {
				for b.Loop() {
					if _, _, err := p.Prove(context.Background(), Input{Witness: s.witness}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

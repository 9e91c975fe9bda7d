package gpu

import (
	"bytes"
	"errors"
	"testing"

	"github.com/pinion-zk/pinion/groth16"
)

// Card.Multiples is the library's function with sizes checked, for none too.
func TestCUDAMultiplesOfACard(t *testing.T) {
	card, err := OpenCUDA(cardLibrary(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := card.Close(); err != nil {
			t.Error(err)
		}
	}()
	scalars := bytes.Repeat([]byte{3}, 2*groth16.ScalarSize)
	for n := range 3 {
		got, want := make([]byte, n*groth16.BLS12381.G2Size()), make([]byte, n*groth16.BLS12381.G2Size())
		some := scalars[:n*groth16.ScalarSize]
		err := errors.Join(card.Multiples(groth16.BLS12381, groth16.G2, some, got), groth16.Multiples(groth16.BLS12381, groth16.G2, some, want))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%d multiples are others than the CPU's, or %v", n, err)
		}
	}
	for _, sizes := range [][2]int{{32, 63}, {31, 64}, {0, 64}} {
		if err := card.Multiples(groth16.BN254, groth16.G1, make([]byte, sizes[0]), make([]byte, sizes[1])); err == nil {
			t.Errorf("%d bytes of scalars and %d of points are taken", sizes[0], sizes[1])
		}
	}
}

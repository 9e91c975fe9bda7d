package circuit

import (
	"math/big"

	"github.com/pinion-zk/pinion/groth16"
)

// dictionary numbers the distinct coefficients of a key in the order in which they were first added: circuits have few. 1 is number 0
// and -1 number 1, whether they occur or not, so that a prover need not multiply by them.
type dictionary struct {
	index  map[[groth16.ScalarSize]byte]uint32
	values []byte // as in the zkey: times R squared
}

func newDictionary(c groth16.Curve) *dictionary {
	d := &dictionary{index: map[[groth16.ScalarSize]byte]uint32{}}
	d.add(encodedCoefficient(c, 1))
	d.add(encodedCoefficient(c, -1))
	return d
}

// add returns the number of value, a new one if it was not there. There are at most 2^32 entries in a key, so numbers fit.
func (d *dictionary) add(value []byte) uint32 {
	key := [groth16.ScalarSize]byte(value)
	i, ok := d.index[key]
	if !ok {
		i = uint32(len(d.index))
		d.index[key] = i
		d.values = append(d.values, value...)
	}
	return i
}

// len is the number of coefficients.
func (d *dictionary) len() int { return len(d.index) }

// encodedCoefficient is n times R squared mod r, R = 2^256: the form of section 4.
func encodedCoefficient(c groth16.Curve, n int64) []byte {
	v := new(big.Int).Lsh(big.NewInt(n), 2*256)
	return littleEndian(v.Mod(v, c.ScalarModulus()), groth16.ScalarSize)
}

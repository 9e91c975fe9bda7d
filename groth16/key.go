package groth16

import "fmt"

// ProvingKey is what a prover needs of a circuit: points, and the matrices A and B in compressed sparse rows.
// It holds views, normally of a mapped prepared file (see package circuit), and never changes: any number of goroutines
// may read it until its owner unmaps it.
//
// Points are affine, their coordinates in Montgomery form, little-endian: the form of the zkey, of gnark-crypto in memory and of
// the GPU kernels alike. The point at infinity is all zero bytes.
type ProvingKey struct {
	Curve   Curve
	Vars    int // wires, the constant one included
	Public  int // public wires, the constant one not included: wires 1..Public
	Domain  int // size of the evaluation domain, a power of two
	Rows    int // rows of the matrices in use: constraints, then one per public wire and the constant; at most Domain
	Entries int // non-zero entries of both matrices

	// Single points: Alpha1, Beta1, Delta1 in G1, Beta2, Delta2 in G2.
	Alpha1, Beta1, Delta1, Beta2, Delta2 []byte

	PointsA  Section // Vars points of G1
	PointsB1 Section // Vars points of G1
	PointsB2 Section // Vars points of G2
	PointsC  Section // Vars-Public-1 points of G1: wires Public+1 and up
	PointsH  Section // Domain points of G1, see Quotient

	Quotient Quotient // what PointsH are multiplied by
	// Exponents says that the sections of points hold, instead of each point, its logarithm to the generator of its group: 32 bytes,
	// little-endian, canonical; 0 is the point at infinity. So Setup makes keys, and so a device takes those that are too large to pass
	// through the host as points. The single points are points all the same.
	Exponents bool

	A, B Matrix
	// Coefficients are the distinct entries of A and B: 32 bytes each, Montgomery, little-endian. The first two are 1 and -1.
	Coefficients Section
}

// Quotient is the form that a proof's quotient h = (ab-c)/Z takes, and with it the points of H. Z is the polynomial that vanishes on
// the domain, whose root of unity of order n is 5^((r-1)/n) in both forms and on both curves.
type Quotient uint8

const (
	// OddCoset is the form of snarkjs: the Lagrange basis on the odd coset, over delta. Point i is multiplied by the
	// value of ab-c at w^(2i+1), w being the root of twice the order.
	OddCoset Quotient = iota
	// Powers is the form of bellman: tau^i Z(tau)/delta for i up to Domain-2, and the point at infinity. Point i is multiplied by
	// coefficient i of h.
	Powers
)

func (q Quotient) String() string {
	switch q {
	case OddCoset:
		return "odd coset"
	case Powers:
		return "powers"
	}
	return fmt.Sprintf("quotient(%d)", uint8(q))
}

// Matrix is a sparse matrix in compressed rows. Row i has the entries Starts[i] to Starts[i+1] of Columns and Values.
// All numbers are u32, little-endian.
type Matrix struct {
	Starts  Section // Rows+1
	Columns Section // wire of each entry, < Vars
	Values  Section // index of each entry into the coefficients
}

// Section is a read-only array of bytes whose content is checked when it is first touched, so that opening a large key
// costs nothing. The zero Section is empty.
type Section struct {
	data  []byte
	touch func(lo, hi int) error
}

// NewSection makes a Section over data. touch, if not nil, checks the bytes [lo, hi) of data before their first use;
// it must be safe for concurrent use and cheap when they have been checked already.
func NewSection(data []byte, touch func(lo, hi int) error) Section {
	return Section{data: data, touch: touch}
}

// Len is the length in bytes.
func (s Section) Len() int { return len(s.data) }

// Unchecked returns the whole section as it is: for whom it takes no reading, or has Range check each part before it is read.
func (s Section) Unchecked() []byte { return s.data }

// Bytes returns the whole section, checked.
func (s Section) Bytes() ([]byte, error) { return s.Range(0, len(s.data)) }

// Range returns the bytes [lo, hi), checked.
func (s Section) Range(lo, hi int) ([]byte, error) {
	if s.touch != nil && lo < hi {
		if err := s.touch(lo, hi); err != nil {
			return nil, err
		}
	}
	return s.data[lo:hi:hi], nil
}

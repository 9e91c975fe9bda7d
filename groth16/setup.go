package groth16

import (
	"context"
	"fmt"
)

// Group is one of the two groups of a curve.
type Group uint8

const (
	G1 Group = 1
	G2 Group = 2
)

// PointSize is the length in bytes of an affine point of the group, see Curve.G1Size and Curve.G2Size.
func (c Curve) PointSize(g Group) int {
	if g == G2 {
		return c.G2Size()
	}
	return c.G1Size()
}

// Multiplier sets points, affine as in a ProvingKey, to the multiples of the group's generator by scalars: 32 bytes each,
// little-endian, canonical. A device has one of its own; Multiples is that of the CPU.
type Multiplier func(curve Curve, group Group, scalars, points []byte) error

// Multiples is a Multiplier on all cores. points must be aligned to 8 bytes.
func Multiples(curve Curve, group Group, scalars, points []byte) error {
	if group != G1 && group != G2 {
		return fmt.Errorf("group %d, expected 1 or 2", group)
	}
	if i, err := curve.CheckScalars(scalars); err != nil {
		return fmt.Errorf("scalar %d: %w", i, err)
	}
	if want := len(scalars) / ScalarSize * curve.PointSize(group); len(points) != want {
		return fmt.Errorf("room of %d bytes for %d points, expected %d", len(points), len(scalars)/ScalarSize, want)
	}
	b, err := curve.backend()
	if err != nil {
		return err
	}
	if group == G2 {
		return b.MultiplesG2(scalars, points)
	}
	return b.MultiplesG1(scalars, points)
}

// Constraints are what Setup makes keys of: A.w and B.w multiplied row by row are C.w for each witness w that satisfies them.
// The last Public+1 rows have 1 on their public wire or the constant one in A, in the order of the wires, and nothing else: they bind
// the public signals to the proof.
type Constraints struct {
	Curve   Curve
	Vars    int // wires, the constant one included
	Public  int // public wires, the constant one not included: wires 1..Public
	Rows    int // of each matrix
	A, B, C Matrix
	// Coefficients are the distinct entries of A and B, as in a ProvingKey; CoefficientsC those of C, whose first two are 1 and -1 too.
	// No prover needs C.
	Coefficients, CoefficientsC Section
}

// Domain is the size of the evaluation domain: a power of two, at least 2, into which the rows fit. So snarkjs chooses it.
func (c *Constraints) Domain() int {
	domain := 2
	for domain < c.Rows {
		domain *= 2
	}
	return domain
}

// check compares the sizes of the parts with the numbers, and looks at nothing in them.
func (c *Constraints) check() error {
	switch {
	case c.Public < 0 || c.Public >= c.Vars || c.Vars > maxDomain:
		return fmt.Errorf("%d public wires of %d, expected fewer than there are, and at most %d of these", c.Public, c.Vars, maxDomain)
	case c.Rows <= c.Public || c.Rows > maxDomain:
		return fmt.Errorf("%d rows with %d public wires, expected more rows than these, and at most %d", c.Rows, c.Public, maxDomain)
	}
	for _, m := range []struct {
		name string
		Matrix
	}{{"A", c.A}, {"B", c.B}, {"C", c.C}} {
		if m.Starts.Len() != 4*(c.Rows+1) || m.Columns.Len() != m.Values.Len() || m.Columns.Len()%4 != 0 {
			return fmt.Errorf("matrix %s: %d, %d and %d bytes of starts, columns and values of %d rows", m.name, m.Starts.Len(), m.Columns.Len(), m.Values.Len(), c.Rows)
		}
	}
	return nil
}

// Setup makes keys from fresh secrets, on all cores. The proving key has Exponents, and views the matrices of the constraints; both are
// for a Multiplier or a device to go on with.
//
// Keys made so are for development only: this process held what it takes to forge proofs, and the exponents still tell. Like a key
// of snarkjs that nobody has contributed to, they have gamma and delta at the generator, so that they are known for what they are
// wherever they go: see VerifyingKey.Forgeable.
//
// Memory goes to 32 bytes for each wire three times, for each element of the domain twice, and to 8 for each entry of the largest matrix.
func Setup(ctx context.Context, c *Constraints, quotient Quotient) (*ProvingKey, *VerifyingKey, error) {
	if quotient > Powers {
		return nil, nil, fmt.Errorf("%v, expected %v or %v", quotient, OddCoset, Powers)
	}
	curve, err := c.Curve.backend()
	if err == nil {
		err = c.check()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("constraints: %w", err)
	}
	pk := &ProvingKey{
		Curve: c.Curve, Vars: c.Vars, Public: c.Public, Domain: c.Domain(), Rows: c.Rows,
		Entries: (c.A.Columns.Len() + c.B.Columns.Len()) / 4,
		A:       c.A, B: c.B, Coefficients: c.Coefficients,
		Quotient: quotient, Exponents: true,
	}
	made, err := curve.Setup(ctx, pk.backend(), c.C.backend(), c.CoefficientsC)
	if err != nil {
		return nil, nil, fmt.Errorf("constraints: %w", err)
	}
	public := (c.Public + 1) * ScalarSize
	pk.Alpha1, pk.Beta1, pk.Delta1, pk.Beta2, pk.Delta2 = made.Alpha1, made.Beta1, made.Generator1, made.Beta2, made.Generator2
	pk.PointsA, pk.PointsH = NewSection(made.A, nil), NewSection(made.H, nil)
	pk.PointsB1, pk.PointsB2 = NewSection(made.B, nil), NewSection(made.B, nil)
	pk.PointsC = NewSection(made.C[public:], nil)
	ic := make([]byte, (c.Public+1)*c.Curve.G1Size())
	if err := Multiples(c.Curve, G1, made.C[:public], ic); err != nil {
		return nil, nil, err
	}
	vk, err := NewVerifyingKey(c.Curve, pk.Alpha1, pk.Beta2, made.Generator2, pk.Delta2, ic)
	return pk, vk, err
}

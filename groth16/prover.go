package groth16

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"github.com/pinion-zk/pinion/groth16/internal/backend"
	"github.com/pinion-zk/pinion/groth16/internal/parallel"
)

// Prover makes proofs with one key on all cores (GOMAXPROCS). It is safe for concurrent use.
type Prover struct {
	key    *ProvingKey
	prover backend.Prover
}

// Input is a witness to prove.
type Input struct {
	// Witness has a value for each wire: 32 bytes, little-endian, below r. The first is 1.
	Witness []byte
	// A and B are what Synthesize makes of the witness, or nil to have the prover do so. The prover overwrites them.
	A, B []byte
	// Read, if not nil, is called once, as soon as the prover neither reads nor writes the buffers above, at the latest before Prove
	// returns. It may be called on another goroutine.
	Read func()
}

// Phases are the wall times of the parts of a proof. The sums (MSM) over the witness run beside Synthesis and NTT:
// MSM is the time from the start to the end of the last sum.
type Phases struct{ Synthesis, NTT, MSM, Finish time.Duration }

// NewProver prepares a prover: it computes the roots of unity of the key's domain. ProvingKey.ProverBytes says what it takes.
// The key must stay mapped while the prover is in use.
func NewProver(pk *ProvingKey) (*Prover, error) {
	if err := pk.Check(); err != nil {
		return nil, fmt.Errorf("proving key: %w", err)
	}
	if pk.Exponents {
		return nil, errors.New("proving key: exponents in place of points, which a prover on the CPU doesn't take")
	}
	curve, err := pk.Curve.backend()
	if err != nil {
		return nil, err
	}
	prover, err := curve.NewProver(pk.backend())
	if err != nil {
		return nil, err
	}
	return &Prover{key: pk, prover: prover}, nil
}

// PanicError is a panic on a goroutine of a prover: a bug, or memory that is gone. It has the type and the place of the panic, and no
// values.
type PanicError = parallel.PanicError

// Prove makes a proof with fresh blinding. It doesn't tell whether the witness satisfies the circuit: a proof of one that doesn't won't
// verify. Once the context is done it returns the context's error soon, also within a long sum. A panic is a *PanicError.
func (p *Prover) Prove(ctx context.Context, in Input) (*Proof, Phases, error) {
	if err := p.key.checkInput(in); err != nil {
		if in.Read != nil {
			in.Read()
		}
		return nil, Phases{}, err
	}
	raw, phases, err := p.prover.Prove(ctx, backend.Input(in))
	if err != nil {
		return nil, Phases{}, err
	}
	return &Proof{Curve: p.key.Curve, raw: raw}, Phases(phases), nil
}

// ProverBytes says what a Prover takes beside the key: itself, and what one proof at a time needs besides its input, at most.
// The Prover keeps the latter for the proofs that follow; proofs at the same time have one each.
func (pk *ProvingKey) ProverBytes() (prover, proof int64, err error) {
	if err := pk.Check(); err != nil {
		return 0, 0, fmt.Errorf("proving key: %w", err)
	}
	curve, err := pk.Curve.backend()
	if err != nil {
		return 0, 0, err
	}
	prover, proof = curve.ProverBytes(pk.backend())
	return prover, proof, nil
}

// Synthesize computes a = A.w and b = B.w, Domain elements each: 32 bytes, Montgomery form, little-endian, zero padded.
// It uses all cores and doesn't keep the buffers, which must be aligned to 8 bytes.
func (pk *ProvingKey) Synthesize(ctx context.Context, witness, a, b []byte) error {
	if err := pk.Check(); err != nil {
		return fmt.Errorf("proving key: %w", err)
	}
	if err := pk.checkInput(Input{Witness: witness, A: a, B: b}); err != nil {
		return err
	}
	curve, err := pk.Curve.backend()
	if err != nil {
		return err
	}
	return curve.Synthesize(ctx, pk.backend(), witness, a, b)
}

func (pk *ProvingKey) backend() *backend.ProvingKey {
	return &backend.ProvingKey{
		Vars: pk.Vars, Public: pk.Public, Domain: pk.Domain, Rows: pk.Rows, Entries: pk.Entries,
		Alpha1: pk.Alpha1, Beta1: pk.Beta1, Delta1: pk.Delta1, Beta2: pk.Beta2, Delta2: pk.Delta2,
		PointsA: pk.PointsA, PointsB1: pk.PointsB1, PointsB2: pk.PointsB2, PointsC: pk.PointsC, PointsH: pk.PointsH,
		A: pk.A.backend(), B: pk.B.backend(),
		Coefficients: pk.Coefficients, Powers: pk.Quotient == Powers,
	}
}

func (m Matrix) backend() backend.Matrix {
	return backend.Matrix{Starts: m.Starts, Columns: m.Columns, Values: m.Values}
}

// maxDomain is 2^28, the largest domain of BN254, and a bound for what fits into the prover's 32-bit indices.
const maxDomain = 1 << 28

// Check compares the sizes of the key's parts with its numbers. It reads none of them.
func (pk *ProvingKey) Check() error {
	if _, err := pk.Curve.backend(); err != nil {
		return err
	}
	if pk.Domain < 1 || pk.Domain > maxDomain || bits.OnesCount(uint(pk.Domain)) != 1 {
		return fmt.Errorf("a domain of %d, expected a power of two up to %d", pk.Domain, maxDomain)
	}
	if pk.Rows < 0 || pk.Rows > pk.Domain {
		return fmt.Errorf("%d rows in a domain of %d", pk.Rows, pk.Domain)
	}
	if pk.Public < 0 || pk.Public >= pk.Vars || pk.Vars > maxDomain {
		return fmt.Errorf("%d public wires of %d", pk.Public, pk.Vars)
	}
	if pk.Quotient > Powers {
		return fmt.Errorf("%v, expected %v or %v", pk.Quotient, OddCoset, Powers)
	}
	g1, g2 := pk.Curve.G1Size(), pk.Curve.G2Size()
	of1, of2 := g1, g2 // in the sections
	if pk.Exponents {
		of1, of2 = ScalarSize, ScalarSize
	}
	for _, part := range []struct {
		name      string
		len, want int
	}{
		{"alpha1", len(pk.Alpha1), g1},
		{"beta1", len(pk.Beta1), g1},
		{"delta1", len(pk.Delta1), g1},
		{"beta2", len(pk.Beta2), g2},
		{"delta2", len(pk.Delta2), g2},
		{"points A", pk.PointsA.Len(), pk.Vars * of1},
		{"points B1", pk.PointsB1.Len(), pk.Vars * of1},
		{"points B2", pk.PointsB2.Len(), pk.Vars * of2},
		{"points C", pk.PointsC.Len(), (pk.Vars - pk.Public - 1) * of1},
		{"points H", pk.PointsH.Len(), pk.Domain * of1},
		{"starts of A", pk.A.Starts.Len(), 4 * (pk.Rows + 1)},
		{"starts of B", pk.B.Starts.Len(), 4 * (pk.Rows + 1)},
		{"values of A", pk.A.Values.Len(), pk.A.Columns.Len()},
		{"values of B", pk.B.Values.Len(), pk.B.Columns.Len()},
	} {
		if part.len != part.want {
			return fmt.Errorf("%s: %d bytes, expected %d", part.name, part.len, part.want)
		}
	}
	return nil
}

// checkInput refuses buffers of the wrong size and a witness that can't be one.
func (pk *ProvingKey) checkInput(in Input) error {
	if len(in.Witness) != pk.Vars*ScalarSize {
		return fmt.Errorf("a witness of %d bytes, expected %d wires of %d bytes", len(in.Witness), pk.Vars, ScalarSize)
	}
	if (in.A == nil) != (in.B == nil) {
		return errors.New("one of a and b without the other")
	}
	for _, vector := range [][]byte{in.A, in.B} {
		if vector != nil && len(vector) != pk.Domain*ScalarSize {
			return fmt.Errorf("a vector of %d bytes, expected %d elements of %d bytes", len(vector), pk.Domain, ScalarSize)
		}
	}
	if i, err := pk.Curve.CheckScalars(in.Witness); err != nil {
		return fmt.Errorf("witness value %d: %w", i, err)
	}
	if in.Witness[0] != 1 || !isZero(in.Witness[1:ScalarSize]) {
		return errors.New("witness value 0 is not 1")
	}
	return nil
}

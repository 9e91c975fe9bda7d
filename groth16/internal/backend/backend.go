// Package backend holds the types that package groth16 and its two curves exchange: bytes and sizes, nothing of a curve.
package backend

import (
	"context"
	"time"
)

// Section is a read-only array of bytes that is checked as it is read. It is safe for concurrent use.
type Section interface {
	Len() int
	Range(lo, hi int) ([]byte, error)
}

// Matrix is a sparse matrix in compressed rows, see groth16.Matrix.
type Matrix struct{ Starts, Columns, Values Section }

// ProvingKey is groth16.ProvingKey without its curve.
type ProvingKey struct {
	Vars, Public, Domain, Rows, Entries           int
	Alpha1, Beta1, Delta1, Beta2, Delta2          []byte
	PointsA, PointsB1, PointsB2, PointsC, PointsH Section
	A, B                                          Matrix
	Coefficients                                  Section
	Powers                                        bool // PointsH are for the coefficients of the quotient
}

// Setup is what a setup makes: points, and for each wire or each point of H its exponent, 32 bytes, canonical, little-endian.
type Setup struct {
	Alpha1, Beta1, Generator1, Beta2, Generator2 []byte
	A, B, C, H                                   []byte // C is that of all wires: of the public ones those of IC
}

// VerifyingKey has points in Montgomery form; IC one more than the public signals.
type VerifyingKey struct{ Alpha1, Beta2, Gamma2, Delta2, IC []byte }

// Input is a witness to prove, see groth16.Input.
type Input struct {
	Witness []byte
	A, B    []byte
	Read    func()
}

// Phases are the wall times of the parts of a proof.
type Phases struct{ Synthesis, NTT, MSM, Finish time.Duration }

// Curve is what package groth16 needs of a curve. Points are affine, Montgomery, little-endian, all zero at infinity.
type Curve interface {
	// DecodeBase turns a canonical big-endian coordinate into Montgomery form; false if it is not below q.
	DecodeBase(dst, src []byte) bool
	// EncodeBase is the inverse of DecodeBase.
	EncodeBase(dst, src []byte)
	// CheckG1 and CheckG2 return the index of the first bad point and why, or -1 and nil.
	CheckG1(points []byte) (int, error)
	CheckG2(points []byte) (int, error)
	// CheckScalars returns the index of the first 32-byte little-endian word that is not below r, or -1.
	CheckScalars(words []byte) int
	// DecodeCoefficients multiplies each word by the inverse of R; the words are below r.
	DecodeCoefficients(dst, src []byte)
	// CompressProof and DecompressProof translate A | B | C.
	CompressProof(points []byte) []byte
	DecompressProof(compressed []byte) ([]byte, error)
	// PairAlphaBeta returns e(alpha, beta) as twelve canonical big-endian coordinates, in the order of the tower.
	PairAlphaBeta(alpha1, beta2 []byte) ([]byte, error)
	NewVerifier(key *VerifyingKey) (Verifier, error)
	NewProver(key *ProvingKey) (Prover, error)
	// ProverBytes is the memory of a prover beside its key, and that of one proof at most.
	ProverBytes(key *ProvingKey) (prover, proof int64)
	Synthesize(ctx context.Context, key *ProvingKey, witness, a, b []byte) error
	// Setup draws secrets and makes a key of the numbers and the matrices of a key and the matrix C. Delta and gamma are 1.
	Setup(ctx context.Context, key *ProvingKey, c Matrix, coefficientsC Section) (*Setup, error)
	// MultiplesG1 and MultiplesG2 set points to multiples of the generators by scalars, canonical and as many.
	MultiplesG1(scalars, points []byte) error
	MultiplesG2(scalars, points []byte) error
}

// Verifier checks proofs A | B | C against public signals (32 bytes big-endian each, below r, as many as the key has).
type Verifier interface {
	Verify(proof, public []byte) (bool, error)
	// VerifyAll tells whether all of them are right, but for one chance in 2^128.
	VerifyAll(proofs, publics [][]byte) (bool, error)
}

// Prover makes proofs A | B | C.
type Prover interface {
	Prove(ctx context.Context, in Input) ([]byte, Phases, error)
}

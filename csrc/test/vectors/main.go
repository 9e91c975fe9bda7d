// Command vectors writes what the tests of the kernels compare with: operands, and what gnark-crypto makes of them.
//
//	go run ./csrc/test/vectors FILE
//
// The file is one array after another: length of its name (4 bytes), name, length in bytes (8 bytes), and the array as it lies in
// memory, there and in the kernels: little-endian words, elements in Montgomery form unless the name says integers.
package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	blsq "github.com/consensys/gnark-crypto/ecc/bls12-381/fp"
	blsr "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	blsfft "github.com/consensys/gnark-crypto/ecc/bls12-381/fr/fft"
	"github.com/consensys/gnark-crypto/ecc/bn254"
	bnq "github.com/consensys/gnark-crypto/ecc/bn254/fp"
	bnr "github.com/consensys/gnark-crypto/ecc/bn254/fr"
	bnfft "github.com/consensys/gnark-crypto/ecc/bn254/fr/fft"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: vectors FILE")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the vectors, the same in every run.
func write(path string) error {
	f, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	defer f.Close()
	w := &writer{out: bufio.NewWriter(f), random: rand.New(rand.NewPCG(20261201, 0))}

	w.of("bn254 ")
	scalars := prime[bnr.Element](w, "r", bnr.Modulus())
	operations(w, "q2", extension(prime[bnq.Element](w, "q", bnq.Modulus()), func(a, b bnq.Element) bn254.E2 { return bn254.E2{A0: a, A1: b} }))
	_, _, g1, g2 := bn254.Generators()
	sums[bn254.G1Affine, bnr.Element](w, "g1", points(w, "g1", g1), many)
	sums[bn254.G2Affine, bnr.Element](w, "g2", points(w, "g2", g2), few)
	multiples[bn254.G1Affine, bnr.Element](w, "g1", g1)
	multiples[bn254.G2Affine, bnr.Element](w, "g2", g2)
	d := domain[bnr.Element, *bnr.Element]{bnr.Modulus(), func(n int, a []bnr.Element) bnr.Element {
		d := bnfft.NewDomain(uint64(n))
		d.FFT(a, bnfft.DIF)
		return d.Generator
	}}
	transforms(w, d)
	quotients(w, d)
	matrices(w, scalars)

	w.of("bls12381 ")
	scalars2 := prime[blsr.Element](w, "r", blsr.Modulus())
	operations(w, "q2", extension(prime[blsq.Element](w, "q", blsq.Modulus()), func(a, b blsq.Element) bls12381.E2 { return bls12381.E2{A0: a, A1: b} }))
	_, _, h1, h2 := bls12381.Generators()
	sums[bls12381.G1Affine, blsr.Element](w, "g1", points(w, "g1", h1), few)
	sums[bls12381.G2Affine, blsr.Element](w, "g2", points(w, "g2", h2), few)
	multiples[bls12381.G1Affine, blsr.Element](w, "g1", h1)
	multiples[bls12381.G2Affine, blsr.Element](w, "g2", h2)
	d2 := domain[blsr.Element, *blsr.Element]{blsr.Modulus(), func(n int, a []blsr.Element) blsr.Element {
		d := blsfft.NewDomain(uint64(n))
		d.FFT(a, blsfft.DIF)
		return d.Generator
	}}
	transforms(w, d2)
	quotients(w, d2)
	matrices(w, scalars2)

	if w.err == nil {
		w.err = w.out.Flush()
	}
	if w.err != nil {
		return w.err
	}
	return os.Rename(path+".new", path)
}

// writer writes arrays, of one curve at a time, until the first error.
type writer struct {
	out    *bufio.Writer
	random *rand.Rand
	curve  string
	err    error
}

func (w *writer) of(curve string) { w.curve = curve }

// put writes an array of numbers, of elements or of points.
func (w *writer) put(name string, array any) {
	var data bytes.Buffer
	if err := binary.Write(&data, binary.LittleEndian, array); w.err == nil {
		w.err = err
	}
	name = w.curve + name
	for _, part := range []any{uint32(len(name)), []byte(name), uint64(data.Len()), data.Bytes()} {
		if err := binary.Write(w.out, binary.LittleEndian, part); w.err == nil {
			w.err = err
		}
	}
}

// below is a random number that is less than limit.
func (w *writer) below(limit *big.Int) *big.Int {
	n := new(big.Int)
	for range (limit.BitLen() + 64) / 64 {
		n.Lsh(n, 64).Or(n, new(big.Int).SetUint64(w.random.Uint64()))
	}
	return n.Mod(n, limit)
}

// integers has the words of numbers below the modulus.
func integers(modulus *big.Int, numbers ...*big.Int) []byte {
	size := (modulus.BitLen() + 63) / 64 * 8
	var all []byte
	for _, n := range numbers {
		word := n.FillBytes(make([]byte, size))
		for i := range size {
			all = append(all, word[size-1-i])
		}
	}
	return all
}

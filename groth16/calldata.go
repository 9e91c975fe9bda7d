package groth16

import (
	"fmt"
	"strings"
)

// Calldata returns the arguments of snarkjs's Solidity verifier, as snarkjs zkey export soliditycalldata prints them: A, B, C and the
// public signals in brackets, 32-byte words in hexadecimal, imaginary parts first. Only BN254 has a verifier there.
func (p *Proof) Calldata(pub Public) (string, error) {
	if p.Curve != BN254 {
		return "", fmt.Errorf("calldata: a proof on %v, expected %v", p.Curve, BN254)
	}
	if err := pub.check(p.Curve, pub.Len()); err != nil {
		return "", fmt.Errorf("calldata: %w", err)
	}
	words := p.Raw()
	word := func(i int) string { return fmt.Sprintf(`"0x%064x"`, words[32*i:32*(i+1)]) }
	signals := make([]string, pub.Len())
	for i := range signals {
		signals[i] = fmt.Sprintf(`"0x%064x"`, pub.signal(i))
	}
	return fmt.Sprintf("[%s, %s],[[%s, %s],[%s, %s]],[%s, %s],[%s]",
		word(0), word(1), word(2), word(3), word(4), word(5), word(6), word(7), strings.Join(signals, ",")), nil
}

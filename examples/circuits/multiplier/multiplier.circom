pragma circom 2.1.0;

// Multiplier shows that the prover knows two factors of a number.
template Multiplier() {
    signal input a;
    signal input b;
    signal output c;

    c <== a * b;
}

component main = Multiplier();

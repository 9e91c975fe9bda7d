pragma circom 2.1.0;

include "constants.circom";

// MiMC is the block cipher of Albrecht, Grassi, Rechberger, Roy and Tiessen
// (https://eprint.iacr.org/2016/492) with exponent 5, which is prime to r-1 on
// BN254 and on BLS12-381. 110 rounds = ceil(log_5(2^255)).
template MiMC() {
    signal input key;
    signal input in;
    signal output out;

    var rounds = 110;
    var constant[rounds] = roundConstants();
    signal square[rounds];
    signal fourth[rounds];
    signal state[rounds];

    for (var i = 0; i < rounds; i++) {
        var t = (i == 0 ? in : state[i-1]) + key + constant[i];
        square[i] <== t * t;
        fourth[i] <== square[i] * square[i];
        state[i] <== fourth[i] * t;
    }
    out <== state[rounds-1] + key;
}

// Compress hashes two field elements to one: the construction of Miyaguchi and
// Preneel over MiMC, with the left element as the key.
template Compress() {
    signal input left;
    signal input right;
    signal output out;

    component cipher = MiMC();
    cipher.key <== left;
    cipher.in <== right;
    out <== cipher.out + left + right;
}

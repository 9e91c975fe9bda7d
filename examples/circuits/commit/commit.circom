pragma circom 2.1.0;

// Commit shows that the prover knows a message of 8 x 8 field elements (two pages
// of four rows) and a key matrix, whose product is the public sealed matrix. It
// is here for its shape: nested arrays as inputs and 64 public signals.
template Commit() {
    signal input message[2][4][8];
    signal input key[8][8];
    signal output sealed[8][8];

    signal term[8][8][8];
    for (var row = 0; row < 8; row++) {
        for (var col = 0; col < 8; col++) {
            var sum = 0;
            for (var k = 0; k < 8; k++) {
                term[row][col][k] <== message[row \ 4][row % 4][k] * key[k][col];
                sum += term[row][col][k];
            }
            sealed[row][col] <== sum;
        }
    }
}

component main = Commit();

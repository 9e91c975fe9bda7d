pragma circom 2.1.6;

// An input that is no array, an array of two dimensions, an assertion in a template of its own, and log().
template Square() {
    signal input x;
    signal output y;
    y <== x * x;
}

template Sum() {
    signal input a;
    signal input b[2][3];
    signal output c;
    signal output d;
    component square = Square();
    log("a is", a);
    square.x <== a;
    square.y === 9;
    c <== a * b[1][0] + b[0][1];
    d <== b[0][2] * b[1][2];
}

component main {public [a]} = Sum();

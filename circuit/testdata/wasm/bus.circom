pragma circom 2.2.0;

// Inputs that are buses, and arrays of them.
bus Point() {
    signal x;
    signal y[2];
}

bus Segment() {
    Point() ends[2];
    signal weight;
}

template Buses() {
    input Point() a;
    input Segment() s[2];
    signal output c;
    signal output d;
    c <== a.x * a.y[1] + s[1].ends[0].y[1];
    d <== s[0].weight * s[0].ends[1].x + s[1].weight;
}

component main = Buses();

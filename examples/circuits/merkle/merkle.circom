pragma circom 2.1.0;

include "mimc.circom";

// Merkle shows that the prover knows the secret of one leaf under root, and
// binds a nullifier to it: one per secret and scope, so that a second use in the
// same scope is seen without telling which leaf it was.
template Merkle(depth) {
    signal input secret;
    signal input sibling[depth];
    signal input right[depth];   // 1 where the node is the right child
    signal input scope;
    signal output root;
    signal output nullifier;

    component leaf = Compress();
    leaf.left <== secret;
    leaf.right <== 1;

    component mark = Compress();
    mark.left <== scope;
    mark.right <== secret;
    nullifier <== mark.out;

    component parent[depth];
    signal left[depth];
    for (var i = 0; i < depth; i++) {
        var node = i == 0 ? leaf.out : parent[i-1].out;
        assert(right[i] == 0 || right[i] == 1);
        right[i] * (right[i] - 1) === 0;
        left[i] <== node + right[i] * (sibling[i] - node);
        parent[i] = Compress();
        parent[i].left <== left[i];
        parent[i].right <== node + sibling[i] - left[i];
    }
    root <== parent[depth-1].out;
}

component main {public [scope]} = Merkle(4);

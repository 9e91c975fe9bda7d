// What is left of a proof once the sums are there.
#pragma once

#include "../curve/held.h"
#include "../msm/sums.h"

namespace pinion {

// Proof is A | B | C as it leaves the library.
template <class C>
struct Proof {
  Affine<typename C::G1> a;
  Affine<typename C::G2> b;
  Affine<typename C::G1> c;
};

// SumsOf are the sums of a batch: one of each for a proof, and the multiples of two of them that blind C.
template <class C>
struct SumsOf {
  Xyzz<typename C::G1> *a, *b1, *c, *h, *blindA, *blindB1;
  Xyzz<typename C::G2> *b2;
};

// Constants are the key's single points that no sum has.
template <class C>
struct Constants {
  Xyzz<typename C::G1> alpha1, beta1;
  Affine<typename C::G2> beta2;
};

// blind makes the two multiples that C has: s A and r B1, B1 without its own blinding, so that r s delta needs no taking away. Vectors
// of stride elements end in r and s. Block (i, 0) does A of proof i, (i, 1) B1; item w does word w of the integer.
template <class C, class P = typename Held<typename C::G1>::Point>
PINION_KERNEL_BOUNDS(C::Scalar::words *P::lanes, 1) blind(SumsOf<C> sums, Constants<C> constants, const typename C::Scalar *vectors,
                                                           size_t stride) {
  constexpr unsigned words = C::Scalar::words;
  PINION_SHARED typename P::Memory shared[words];
  const unsigned at = threadIndex() / P::lanes;
  const size_t i = blockIndex();
  const bool forA = blockIndexY() == 0;
  const typename C::Scalar *ends = vectors + (i + 1) * stride - 2;  // r, s
  const uint32_t word = ends[forA ? 1 : 0].w[at];
  P point = P::load(forA ? sums.a[i] : sums.b1[i]);
  point.add(P::load(forA ? constants.alpha1 : constants.beta1));
  for (unsigned k = 0; k < 32 * (words - 1); k++) {
    P next = point;
    next.twice();
    if (k < 32 * at) point = next;
  }
  P sum = P::infinity();
  for (unsigned bit = 32; bit-- > 0;) {
    sum.twice();
    P term = P::infinity();
    if (word >> bit & 1) term = point;
    sum.add(term);
  }
  for (unsigned by = words / 2; by > 0; by /= 2) {
    P other = msm::taken(sum, at, at < by ? at + by : at, shared);
    if (at >= by) other = P::infinity();
    sum.add(other);
  }
  if (at == 0) sum.store(forA ? sums.blindA[i] : sums.blindB1[i]);
}

// finish writes A, B and C of the proofs, in the blocks of y = 0, 1 and 2.
template <class C>
PINION_KERNEL_BOUNDS(64, 1) finish(SumsOf<C> sums, Constants<C> constants, Proof<C> *proofs, unsigned count) {
  const size_t i = globalThread();
  if (i >= count) return;
  if (blockIndexY() == 1) {
    Xyzz<typename C::G2> b = sums.b2[i];
    b.add(constants.beta2);
    proofs[i].b = b.toAffine();
    return;
  }
  const bool isA = blockIndexY() == 0;
  Xyzz<typename C::G1> point = isA ? sums.a[i] : sums.c[i];
  point.add(isA ? constants.alpha1 : sums.h[i]);
  if (!isA) {
    point.add(sums.blindA[i]);
    point.add(sums.blindB1[i]);
  }
  (isA ? proofs[i].a : proofs[i].c) = point.toAffine();
}

}  // namespace pinion

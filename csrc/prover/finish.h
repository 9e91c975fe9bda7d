// What is left of a proof once the sums are there.
#pragma once

#include "../curve/point.h"
#include "../device/device.h"

namespace pinion {

// Proof is A | B | C as it leaves the library.
template <class C>
struct Proof {
  Affine<typename C::G1> a;
  Affine<typename C::G2> b;
  Affine<typename C::G1> c;
};

// SumsOf are the sums of a batch: one of each for a proof.
template <class C>
struct SumsOf {
  Xyzz<typename C::G1> *a, *b1, *c, *h;
  Xyzz<typename C::G2> *b2;
};

// Constants are the key's single points that no sum has.
template <class C>
struct Constants {
  Affine<typename C::G1> alpha1, beta1;
  Affine<typename C::G2> beta2;
};

// multiple is a point times an integer, four bits at a time.
template <class F, class S>
PINION_DEVICE Xyzz<F> multiple(const Xyzz<F> &p, const S &integer) {
  Xyzz<F> table[16];
  table[0] = Xyzz<F>::infinity();
  for (int i = 1; i < 16; i++) {
    table[i] = table[i - 1];
    table[i].add(p);
  }
  Xyzz<F> sum = Xyzz<F>::infinity();
  for (int i = 8 * S::words - 1; i >= 0; i--) {
    for (int k = 0; k < 4; k++) sum.twice();
    sum.add(table[integer.w[i / 8] >> (4 * (i % 8)) & 15]);
  }
  return sum;
}

// blind makes the two multiples that C has: s A and r B1, B1 without its own blinding, so that r s delta needs no taking away. Vectors
// of stride elements end in r and s. Thread 2 i does A of proof i, the next one B1.
template <class C>
PINION_KERNEL_BOUNDS(64, 1) blind(SumsOf<C> sums, Constants<C> constants, const typename C::Scalar *vectors, size_t stride, unsigned count) {
  const size_t t = globalThread();
  if (t >= 2 * count) return;
  const size_t i = t / 2;
  const typename C::Scalar *ends = vectors + (i + 1) * stride - 2;  // r, s
  const bool forA = t % 2 == 0;
  Xyzz<typename C::G1> point = forA ? sums.a[i] : sums.b1[i];
  point.add(forA ? constants.alpha1 : constants.beta1);
  if (forA) sums.a[i] = point;
  point = multiple(point, ends[forA ? 1 : 0]);
  if (forA) {
    sums.h[i].add(point);
  } else {
    sums.c[i].add(point);
  }
}

// finishG1 writes A and C of the proofs; finishG2 writes B.
template <class C>
PINION_KERNEL_BOUNDS(64, 1) finishG1(SumsOf<C> sums, Proof<C> *proofs, unsigned count) {
  const size_t t = globalThread();
  if (t >= 2 * count) return;
  const size_t i = t / 2;
  Xyzz<typename C::G1> point = t % 2 == 0 ? sums.a[i] : sums.c[i];
  if (t % 2 == 1) point.add(sums.h[i]);
  (t % 2 == 0 ? proofs[i].a : proofs[i].c) = point.toAffine();
}

template <class C>
PINION_KERNEL_BOUNDS(64, 1) finishG2(SumsOf<C> sums, Constants<C> constants, Proof<C> *proofs, unsigned count) {
  const size_t i = globalThread();
  if (i >= count) return;
  Xyzz<typename C::G2> point = sums.b2[i];
  point.add(constants.beta2);
  proofs[i].b = point.toAffine();
}

}  // namespace pinion

// The quadratic extension with an element across two lanes of a warp.
#pragma once

#include "../device/device.h"
#include "../field/fp2.h"

namespace pinion {

// Pair is Fp2 with c0 in the even lane and c1 in the odd one beside it, so that a point of G2 takes a thread no more registers than a
// point of G1. Each lane works out its half of a product from both halves of the factors. All 32 lanes of a warp do the same operations
// together, since the halves pass from lane to lane: where operands differ in kind, compute both ways and
// choose. Conditions are joined with & rather than &&, for the same reason.
template <class F>
struct Pair {
  static constexpr int lanes = 2;
  using Memory = Fp2<F>;

  F half;

  PINION_DEVICE static bool odd() { return laneIndex() & 1; }
  PINION_DEVICE static Pair load(const Memory &m) { return {reinterpret_cast<const F *>(&m)[odd()]}; }
  PINION_DEVICE void store(Memory &m) const { reinterpret_cast<F *>(&m)[odd()] = half; }

  PINION_DEVICE static bool any(bool vote) { return ballot(vote) != 0; }
  // both is whether both lanes of the pair vote for it.
  PINION_DEVICE static bool both(bool vote) {
    const unsigned votes = ballot(vote) >> (laneIndex() & 30);
    return (votes & 3) == 3;
  }

  PINION_DEVICE static Pair zero() { return {F::zero()}; }
  PINION_DEVICE static Pair one() { return {choose(F::zero(), F::one())}; }
  PINION_DEVICE bool isZero() const { return both(half.isZero()); }
  PINION_DEVICE Pair operator+(const Pair &o) const { return {half + o.half}; }
  PINION_DEVICE Pair operator-(const Pair &o) const { return {half - o.half}; }
  PINION_DEVICE Pair operator-() const { return {-half}; }
  PINION_DEVICE Pair doubled() const { return {half.doubled()}; }

  // c0 = a0 b0 - a1 b1, c1 = a1 b0 + a0 b1: of each lane the product with b0 and that with b1.
  PINION_DEVICE Pair operator*(const Pair &o) const {
    const F a = across(), b = o.across();
    return {F::template dot<2>({half, choose(a, a.looseNegative())}, {choose(b, o.half), choose(o.half, b)})};
  }

  // c0 = (a0 + a1) (a0 - a1), c1 = 2 a1 a0.
  PINION_DEVICE Pair squared() const {
    const F a = across();
    return {half.looseSum(choose(half, a)) * choose(a, half.looseDifference(a))};
  }

  // combine is a b + c d.
  PINION_DEVICE static Pair combine(const Pair &a, const Pair &b, const Pair &c, const Pair &d) {
    const F a2 = a.across(), b2 = b.across(), c2 = c.across(), d2 = d.across();
    return {F::template dot<4>({a.half, choose(a2, a2.looseNegative()), c.half, choose(c2, c2.looseNegative())},
                               {choose(b2, b.half), choose(b.half, b2), choose(d2, d.half), choose(d.half, d2)})};
  }

 private:
  // choose is a in odd lanes and b in even ones.
  PINION_DEVICE static F choose(const F &a, const F &b) {
    const bool second = odd();
    F r;
    PINION_UNROLL
    for (int i = 0; i < F::words; i++) r.w[i] = second ? a.w[i] : b.w[i];
    return r;
  }

  // across is the half of the other lane.
  PINION_DEVICE F across() const {
#ifdef __CUDA_ARCH__
    F r;
    PINION_UNROLL
    for (int i = 0; i < F::words; i++) r.w[i] = shuffleXor(half.w[i], 1);
    return r;
#else
    return shuffleXor(half, 1);
#endif
  }
};

}  // namespace pinion

// The quadratic extension of a prime field by a square root of -1, which is what both curves' G2 is over.
#pragma once

#include "field.h"

namespace pinion {

// Fp2 is c0 + c1 u with u^2 = -1. A product is two sums of products with one reduction each: as many multiply-adds as Karatsuba's
// three products, and fewer additions and registers.
template <class F>
struct Fp2 {
    using Base = F;
    static constexpr int lanes = 1;
    using Memory = Fp2;

    F c0, c1;

    PINION_INLINE static Fp2 load(const Fp2 &m) { return m; }
    PINION_INLINE void store(Fp2 &m) const { m = *this; }
    PINION_INLINE static bool any(bool vote) { return vote; }

    PINION_INLINE static Fp2 zero() { return {F::zero(), F::zero()}; }
    PINION_INLINE static Fp2 one() { return {F::one(), F::zero()}; }
    PINION_INLINE bool isZero() const { return c0.isZero() & c1.isZero(); }
    PINION_INLINE bool operator==(const Fp2 &o) const { return c0 == o.c0 && c1 == o.c1; }
    PINION_INLINE bool operator!=(const Fp2 &o) const { return !(*this == o); }
    PINION_INLINE Fp2 operator+(const Fp2 &o) const { return {c0 + o.c0, c1 + o.c1}; }
    PINION_INLINE Fp2 operator-(const Fp2 &o) const { return {c0 - o.c0, c1 - o.c1}; }
    PINION_INLINE Fp2 operator-() const { return {-c0, -c1}; }
    PINION_INLINE Fp2 doubled() const { return {c0.doubled(), c1.doubled()}; }

    PINION_INLINE Fp2 operator*(const Fp2 &o) const {
        return {F::template dot<2>({c0, c1.looseNegative()}, {o.c0, o.c1}), F::template dot<2>({c0, c1}, {o.c1, o.c0})};
    }

    PINION_INLINE Fp2 squared() const { return {c0.looseSum(c1) * c0.looseDifference(c1), c0.looseSum(c0) * c1}; }

    // combine is a b + c d.
    PINION_INLINE static Fp2 combine(const Fp2 &a, const Fp2 &b, const Fp2 &c, const Fp2 &d) {
        return {F::template dot<4>({a.c0, a.c1.looseNegative(), c.c0, c.c1.looseNegative()}, {b.c0, b.c1, d.c0, d.c1}),
                F::template dot<4>({a.c0, a.c1, c.c0, c.c1}, {b.c1, b.c0, d.c1, d.c0})};
    }

    PINION_INLINE Fp2 inverse() const {
        const F n = F::combine(c0, c0, c1, c1).inverse();
        return {c0 * n, -(c1 * n)};
    }
};

}  // namespace pinion

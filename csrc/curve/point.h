// Points of a curve y^2 = x^3 + b.
#pragma once

#include "../field/fp2.h"

namespace pinion {

// Affine is a point by its coordinates; the one at infinity is (0, 0), which is on neither curve. The layout is that of a key's
// sections and of gnark-crypto's points in memory.
template <class F>
struct Affine {
    using Coordinate = F;

    F x, y;

    PINION_INLINE static Affine infinity() { return {F::zero(), F::zero()}; }
    PINION_INLINE bool isInfinity() const { return x.isZero() & y.isZero(); }
    PINION_INLINE bool operator==(const Affine &o) const { return x == o.x && y == o.y; }
    PINION_INLINE bool operator!=(const Affine &o) const { return !(*this == o); }
    PINION_INLINE Affine operator-() const { return {x, -y}; }
};

// Xyzz is the point (x / zz, y / zzz) with zz^3 = zzz^2, the one at infinity if zz is zero: memory of zero bytes is points at infinity.
// The formulas are those of Sutherland in the Explicit-Formulas Database (short Weierstrass, a = 0, XYZZ): madd-2008-s, add-2008-s,
// dbl-2008-s-1, mdbl-2008-s-1. What
// is here holds for every pair of points, equal and opposite ones too.
template <class F>
struct Xyzz {
    using Coordinate = F;

    F x, y, zz, zzz;

    PINION_INLINE static Xyzz infinity() { return {F::zero(), F::zero(), F::zero(), F::zero()}; }

    PINION_INLINE static Xyzz from(const Affine<F> &p) {
        if (p.isInfinity()) return infinity();
        return {p.x, p.y, F::one(), F::one()};
    }

    PINION_INLINE bool isInfinity() const { return zz.isZero(); }

    PINION_CALL Affine<F> toAffine() const {
        if (isInfinity()) return Affine<F>::infinity();
        const F i = zzz.inverse();    // z^-3
        const F j = (i * zz).squared();  // z^-2
        return {x * j, y * i};
    }

    PINION_INLINE void add(const Affine<F> &p) {
        const bool keep = p.isInfinity(), take = isInfinity();
        if constexpr (F::lanes == 1) {
            if (keep) return;
            if (take) {
                *this = {p.x, p.y, F::one(), F::one()};
            } else {
                sum(p);
            }
        } else if (F::any(keep)) {
            const Xyzz before = *this;
            apart(p);
            if (take) *this = {p.x, p.y, F::one(), F::one()};
            if (keep) *this = before;
        } else {  // the lanes of an element may not part
            sum(p);
            if (take) *this = {p.x, p.y, F::one(), F::one()};
        }
    }

    PINION_INLINE void add(const Xyzz &p) {
        const bool keep = p.isInfinity(), take = isInfinity();
        if constexpr (F::lanes == 1) {
            if (keep) return;
            if (take) {
                *this = p;
            } else {
                sum(p);
            }
        } else {
            const Xyzz old = *this;
            sum(p);
            if (take) *this = p;
            if (keep) *this = old;
        }
    }

    PINION_CALL void twice() {
        const F u = y.doubled();
        const F v = u.squared();
        const F w = u * v;
        tangent(w, x * v);
        zz = zz * v;
        zzz = zzz * w;
    }

    // twice is p + p.
    PINION_CALL static Xyzz twice(const Affine<F> &p) {
        const F u = p.y.doubled();
        const F v = u.squared();
        const F w = u * v;
        Xyzz r{p.x, p.y, v, w};
        r.tangent(w, p.x * v);
        return r;
    }

  private:
    // sum adds a point; neither is at infinity. Of opposite points d is zero, and so is zz of their sum.
    PINION_INLINE void sum(const Affine<F> &p) {
        const F d = p.x * zz - x;
        const F r = p.y * zzz - y;
        const bool equal = d.isZero() & r.isZero();
        step(d, r, x, y);
        if (F::any(equal)) {
            const Xyzz t = twice(p);
            if (equal) *this = t;
        }
    }

    PINION_INLINE void sum(const Xyzz &p) {
        const F u = x * p.zz;
        const F s = y * p.zzz;
        const F d = p.x * zz - u;
        const F r = p.y * zzz - s;
        const bool equal = d.isZero() & r.isZero();
        zz = zz * p.zz;
        zzz = zzz * p.zzz;
        step(d, r, u, s);
        if (F::any(equal)) {
            Xyzz t = p;
            t.twice();
            if (equal) *this = t;
        }
    }

    PINION_CALL void apart(const Affine<F> &p) { sum(p); }

    // step ends an addition: d and r are the differences of the coordinates over the common denominators, u and s the coordinates of
    // one of the points over them.
    PINION_INLINE void step(const F &d, const F &r, const F &u, const F &s) {
        const F dd = d.squared();
        const F ddd = d * dd;
        const F q = u * dd;
        zz = zz * dd;
        zzz = zzz * ddd;
        const F nx = r.squared() - ddd - q.doubled();
        y = F::combine(r, q - nx, -s, ddd);
        x = nx;
    }

    PINION_INLINE void tangent(const F &w, const F &s) {
        const F t = x.squared();
        const F m = t.doubled() + t;
        const F nx = m.squared() - s.doubled();
        y = F::combine(m, s - nx, -w, y);
        x = nx;
    }
};

// A curve's fields and groups.
struct Bn254 {
    using Scalar = Bn254Fr;
    using G1 = Bn254Fq;       // coordinates
    using G2 = Fp2<Bn254Fq>;  // coordinates
};

struct Bls12381 {
    using Scalar = Bls12381Fr;
    using G1 = Bls12381Fq;
    using G2 = Fp2<Bls12381Fq>;
};

}  // namespace pinion

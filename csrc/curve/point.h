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
// dbl-2008-s-1. What is here holds for every pair of points, equal and opposite ones too.
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

    PINION_INLINE void add(const Affine<F> &p) { add(p, p.isInfinity()); }

    // add adds p unless keep, which must be so of a point at infinity. Equal and opposite points are rare: they take a call that nothing
    // lives across, so that all else stays in registers.
    PINION_INLINE void add(const Affine<F> &p, bool keep) {
        const F d = p.x * zz - x;
        const F r = p.y * zzz - y;
        if (isInfinity() & !keep) {
            *this = {p.x, p.y, F::one(), F::one()};
            keep = true;
        }
        if (F::any(d.isZero() & !keep)) {
            *this = apart(*this, p, keep);
        } else {
            step(d, r, x, y, keep);
        }
    }

    PINION_INLINE void add(const Xyzz &p) {
        bool keep = p.isInfinity();
        const bool take = isInfinity() & !keep;
        if constexpr (F::lanes == 1) {  // the lanes of an element may not part
            if (keep) return;
            if (take) {
                *this = p;
                return;
            }
        }
        const F u = x * p.zz;
        const F s = y * p.zzz;
        const F d = p.x * zz - u;
        const F r = p.y * zzz - s;
        if (take) *this = p;
        keep |= take;
        const bool same = d.isZero() & !keep;
        if (F::any(same)) {
            const bool equal = r.isZero();
            const Xyzz twice = doubled(p);
            if (same) *this = equal ? twice : infinity();
            keep |= same;
        }
        const F nz = zz * p.zz, nzz = zzz * p.zzz;
        if (!keep) {
            zz = nz;
            zzz = nzz;
        }
        step(d, r, u, s, keep);
    }

    PINION_INLINE void twice() { *this = doubled(*this); }

  private:
    PINION_CALL static Xyzz apart(Xyzz sum, Affine<F> p, bool keep) {
        sum.add(keep ? infinity() : Xyzz{p.x, p.y, F::one(), F::one()});
        return sum;
    }

    // doubled is p + p. It takes and gives values, so that those of its callers can stay in registers.
    PINION_CALL static Xyzz doubled(Xyzz p) {
        const F u = p.y.doubled();
        const F v = u.squared();
        const F w = u * v;
        const F s = p.x * v;
        const F t = p.x.squared();
        const F m = t.doubled() + t;
        const F x = m.squared() - s.doubled();
        return {x, F::combine(m, s - x, -w, p.y), p.zz * v, p.zzz * w};
    }

    // step ends an addition, unless keep: d and r are the differences of the coordinates over the common denominators, u and s the
    // coordinates of one of the points over them.
    PINION_INLINE void step(const F &d, const F &r, const F &u, const F &s, bool keep) {
        const F dd = d.squared();
        const F ddd = d * dd;
        const F q = u * dd;
        const F nz = zz * dd;
        if (!keep) zz = nz;
        const F nzz = zzz * ddd;
        if (!keep) zzz = nzz;
        const F nx = r.squared() - ddd - q.doubled();
        const F ny = F::combine(r, q - nx, -s, ddd);
        if (!keep) x = nx;
        if (!keep) y = ny;
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

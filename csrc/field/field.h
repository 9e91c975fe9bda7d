// A prime field in Montgomery form.
#pragma once

#include "params.h"

namespace pinion {

// Field is an element x of the prime field of P, held as x R mod p: little-endian words, always less than p, so that equal elements
// have equal words. The layout is that of gnark-crypto's elements in memory on a little-endian machine.
//
// Products follow the schedule that keeps a wide multiply-add per word pair: the partial products of even words of a factor don't
// overlap one another, nor do those of odd words, so each row of the product is two carry chains, one into an accumulator at the row's
// own place and one into an accumulator a word higher. After a reduction step the row moves up by a word and the two change places.
template <class P>
struct alignas(16) Field {
    using Params = P;
    static constexpr int words = P::words;
    // An element is held by one thread, whose branches are its own. See Pair.
    static constexpr int lanes = 1;
    using Memory = Field;

    uint32_t w[words];

    PINION_INLINE static Field load(const Field &m) { return m; }
    PINION_INLINE void store(Field &m) const { m = *this; }
    PINION_INLINE static bool any(bool vote) { return vote; }

    PINION_INLINE static Field zero() {
        Field r;
        PINION_UNROLL
        for (int i = 0; i < words; i++) r.w[i] = 0;
        return r;
    }

    PINION_INLINE static Field one() {
        Field r;
        PINION_UNROLL
        for (int i = 0; i < words; i++) r.w[i] = P::one(i);
        return r;
    }

    PINION_INLINE static Field modulus() {
        Field r;
        PINION_UNROLL
        for (int i = 0; i < words; i++) r.w[i] = P::modulus(i);
        return r;
    }

    PINION_INLINE bool isZero() const {
        uint32_t any = 0;
        PINION_UNROLL
        for (int i = 0; i < words; i++) any |= w[i];
        return any == 0;
    }

    PINION_INLINE bool operator==(const Field &o) const {
        uint32_t differ = 0;
        PINION_UNROLL
        for (int i = 0; i < words; i++) differ |= w[i] ^ o.w[i];
        return differ == 0;
    }
    PINION_INLINE bool operator!=(const Field &o) const { return !(*this == o); }

    // inRange says whether the words, read as an integer, are less than p.
    PINION_INLINE bool inRange() const {
        Carry c;
        c.sub(w[0], P::modulus(0));
        PINION_UNROLL
        for (int i = 1; i < words; i++) c.subc(w[i], P::modulus(i));
        return c.borrowLast() != 0;
    }

    PINION_INLINE Field operator+(const Field &o) const { return looseSum(o).reduced(); }

    PINION_INLINE Field operator-(const Field &o) const {
        Field r;
        Carry c;
        r.w[0] = c.sub(w[0], o.w[0]);
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = c.subc(w[i], o.w[i]);
        const uint32_t mask = c.borrowLast();
        Carry d;
        r.w[0] = d.add(r.w[0], P::modulus(0) & mask);
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = d.addc(r.w[i], P::modulus(i) & mask);
        return r;
    }

    PINION_INLINE Field operator-() const { return zero() - *this; }
    PINION_INLINE Field doubled() const { return *this + *this; }

    // Loose elements are factors of one product and nothing else: they are congruent to what they stand for, but not less than p. The
    // products that are added up before a reduction may come to 4 p^2, so both factors of a single one may be as large as 2 p; in the
    // scalar fields only the second one.

    // looseSum is at most 2 p.
    PINION_INLINE Field looseSum(const Field &o) const {
        Field r;
        Carry c;
        r.w[0] = c.add(w[0], o.w[0]);
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = c.addc(w[i], o.w[i]);
        return r;
    }

    // looseNegative is at most p, of an element that is.
    PINION_INLINE Field looseNegative() const {
        Field r;
        Carry c;
        r.w[0] = c.sub(P::modulus(0), w[0]);
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = c.subc(P::modulus(i), w[i]);
        return r;
    }

    // looseDifference is at most 2 p.
    PINION_INLINE Field looseDifference(const Field &o) const { return looseSum(o.looseNegative()); }

    // The first factor is less than p. The second one may be any integer of as many words where P::lowest isn't zero.
    PINION_INLINE Field operator*(const Field &o) const {
        Rows rows;
        if constexpr (P::lowest == 0) {
            PINION_UNROLL
            for (int i = 0; i < words; i++) {
                rows.next(*this, o.w[i], i == 0);
                rows.reduce();
            }
            return rows.sum();
        } else {
            Field quotient;
            PINION_UNROLL
            for (int i = 0; i < words; i++) {
                rows.next(*this, o.w[i], i == 0);
                quotient.w[i] = rows.divide();
            }
            return rows.unreduced() - quotient;
        }
    }

    // squared has the products of unlike words once, doubled, and is reduced afterwards: three quarters of a product's multiply-adds.
    PINION_INLINE Field squared() const {
        uint32_t t[2 * words];
        square(t);
        Rows rows;
        PINION_UNROLL
        for (int i = 0; i < words; i++) {
            rows.even[i] = t[i];
            rows.odd[i] = 0;
        }
        rows.reduce();
        PINION_UNROLL
        for (int i = 1; i < words; i++) rows.next(modulus(), [](uint32_t lowest) { return lowest * P::inverse; });
        Field high;
        PINION_UNROLL
        for (int i = 0; i < words; i++) high.w[i] = t[words + i];
        return rows.unreduced().looseSum(high).reduced();
    }

    // dot is a[0] b[0] + ... + a[N-1] b[N-1] with one reduction for all of the products.
    template <int N>
    PINION_INLINE static Field dot(const Field (&a)[N], const Field (&b)[N]) {
        static_assert(N <= 4 && P::bits + 2 <= 32 * words, "the sum needs two bits above the modulus");
        Rows rows;
        PINION_UNROLL
        for (int i = 0; i < words; i++) {
            rows.next(a[0], b[0].w[i], i == 0);
            PINION_UNROLL
            for (int k = 1; k < N; k++) rows.add(a[k], b[k].w[i]);
            rows.reduce();
        }
        return rows.sum();
    }

    // combine is a b + c d.
    PINION_INLINE static Field combine(const Field &a, const Field &b, const Field &c, const Field &d) {
        return dot<2>({a, c}, {b, d});
    }

    // fromInteger is the element of the integer whose words are those of n.
    PINION_INLINE static Field fromInteger(const Field &n) {
        Field r2;
        PINION_UNROLL
        for (int i = 0; i < words; i++) r2.w[i] = P::square(i);
        return r2 * n;
    }

    // toInteger has the words of the integer that this element is.
    PINION_INLINE Field toInteger() const {
        Field unit = zero();
        unit.w[0] = 1;
        return *this * unit;
    }

    // power is this element to the e, square and multiply.
    PINION_INLINE Field power(uint64_t e) const {
        Field r = one(), s = *this;
        for (; e != 0; e >>= 1) {
            if (e & 1) r = r * s;
            s = s.squared();
        }
        return r;
    }

    // inverse is this element to the -1, zero for zero: the binary algorithm of Euclid, which is additions and shifts and so an order of
    // magnitude shorter than a power. With a for the words of this element, a x = u R^2 and a y = v R^2; u falls to 0 and v to 1.
    PINION_INLINE Field inverse() const {
        Field u = *this, v = modulus(), x, y = zero();
        PINION_UNROLL
        for (int i = 0; i < words; i++) x.w[i] = P::square(i);
        while (!u.isZero()) {
            if (u.w[0] & 1) {  // and so is v: the larger one gives way to the difference
                Field d;
                if (subtract(d, u, v)) {
                    subtract(d, v, u);
                    v = u;
                    const Field before = x;
                    x = y;
                    y = before;
                }
                u = d;
                x = x - y;
            }
            u = u.shifted();
            x = x.halved();
        }
        return y;
    }

  private:
    // subtract sets r to a - b as integers, and is not zero if that is negative.
    PINION_INLINE static uint32_t subtract(Field &r, const Field &a, const Field &b) {
        Carry c;
        r.w[0] = c.sub(a.w[0], b.w[0]);
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = c.subc(a.w[i], b.w[i]);
        return c.borrowLast();
    }

    // complement is R - p.
    PINION_INLINE static Field complement() {
        Field r;
        PINION_UNROLL
        for (int i = 0; i < words; i++) r.w[i] = ~P::modulus(i) + (i == 0);
        return r;
    }

    // shifted has the words of the half, rounded down; halved is the half of the element.
    PINION_INLINE Field shifted() const {
        Field r;
        PINION_UNROLL
        for (int i = 0; i < words - 1; i++) r.w[i] = w[i] >> 1 | w[i + 1] << 31;
        r.w[words - 1] = w[words - 1] >> 1;
        return r;
    }
    PINION_INLINE Field halved() const {
        const uint32_t mask = 0 - (w[0] & 1);
        Field r;
        Carry c;
        r.w[0] = c.add(w[0], P::modulus(0) & mask);
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = c.addc(w[i], P::modulus(i) & mask);
        return r.shifted();
    }

    // reduced subtracts p if that leaves a number that isn't negative.
    PINION_INLINE Field reduced() const {
        Field r;
        Carry c;
        r.w[0] = c.sub(w[0], P::modulus(0));
        PINION_UNROLL
        for (int i = 1; i < words; i++) r.w[i] = c.subc(w[i], P::modulus(i));
        const bool less = c.borrowLast() != 0;
        PINION_UNROLL
        for (int i = 0; i < words; i++) r.w[i] = less ? w[i] : r.w[i];
        return r;
    }

    // square writes the words of the square of this integer.
    PINION_INLINE void square(uint32_t (&t)[2 * words]) const {
        // As in Rows, the products of two words that end at an even word and those that end at an odd one don't overlap: t and, a word
        // higher, odd.
        uint32_t odd[2 * words];
        PINION_UNROLL
        for (int i = 0; i < 2 * words; i++) t[i] = odd[i] = 0;
        PINION_UNROLL
        for (int i = 0; i < words - 1; i++) {
            row(odd, i, i + 1);
            row(t, i, i + 2);
        }
        Carry sum;
        t[1] = sum.add(t[1], odd[0]);
        PINION_UNROLL
        for (int i = 2; i < 2 * words; i++) t[i] = sum.addc(t[i], odd[i - 1]);
        Carry twice;
        t[0] = 0;
        t[1] = twice.add(t[1], t[1]);
        PINION_UNROLL
        for (int i = 2; i < 2 * words; i++) t[i] = twice.addc(t[i], t[i]);
        Carry c;
        t[0] = c.madLo(w[0], w[0], t[0]);
        t[1] = c.madcHi(w[0], w[0], t[1]);
        PINION_UNROLL
        for (int i = 1; i < words; i++) {
            t[2 * i] = c.madcLo(w[i], w[i], t[2 * i]);
            t[2 * i + 1] = c.madcHi(w[i], w[i], t[2 * i + 1]);
        }
    }

    // row adds word i times each second word from j on to t, those with word i + 1 at 2 i.
    PINION_INLINE void row(uint32_t (&t)[2 * words], int i, int j) const {
        if (j >= words) return;
        int at = (i + j) & ~1;
        Carry c;
        t[at] = c.madLo(w[i], w[j], t[at]);
        t[at + 1] = c.madcHi(w[i], w[j], t[at + 1]);
        PINION_UNROLL
        for (j += 2; j < words; j += 2) {
            at += 2;
            t[at] = c.madcLo(w[i], w[j], t[at]);
            t[at + 1] = c.madcHi(w[i], w[j], t[at + 1]);
        }
        t[at + 2] = c.addcLast(t[at + 2], 0);
    }

    // Rows is a product under way: even + odd 2^32, less than 2^(32 (words + 1)).
    struct Rows {
        uint32_t even[words], odd[words];

        // next moves on to the next row and adds a b.
        PINION_INLINE void next(const Field &a, uint32_t b, bool first) {
            if (first) {
                PINION_UNROLL
                for (int i = 0; i < words; i++) even[i] = odd[i] = 0;
                add(a, b);
                return;
            }
            next(a, [=](uint32_t) { return b; });
        }

        // This next drops the lowest word, which is zero, and adds a times what factor makes of the word that is lowest then.
        template <class Factor>
        PINION_INLINE void next(const Field &a, Factor factor) {
            // What was even becomes odd, two words lower; its second word belongs to the new lowest one.
            uint32_t up[words];
            Carry c;
            up[0] = c.add(odd[0], even[1]);
            const uint32_t b = factor(up[0]);
            PINION_UNROLL
            for (int i = 1; i < words; i++) up[i] = odd[i];
            PINION_UNROLL
            for (int i = 0; i < words - 2; i += 2) {
                odd[i] = c.madcLo(a.w[i + 1], b, even[i + 2]);
                odd[i + 1] = c.madcHi(a.w[i + 1], b, even[i + 3]);
            }
            odd[words - 2] = c.madcLo(a.w[words - 1], b, 0);
            odd[words - 1] = c.madcHi(a.w[words - 1], b, 0);
            PINION_UNROLL
            for (int i = 0; i < words; i++) even[i] = up[i];
            addEven(a, b);
        }

        // add adds a b to the row.
        PINION_INLINE void add(const Field &a, uint32_t b) {
            addOdd(a, b, 0);
            addEven(a, b);
        }

        PINION_INLINE void addOdd(const Field &a, uint32_t b, int from) {
            Carry c;
            odd[from] = c.madLo(a.w[from + 1], b, odd[from]);
            odd[from + 1] = c.madcHi(a.w[from + 1], b, odd[from + 1]);
            PINION_UNROLL
            for (int i = from + 2; i < words; i += 2) {
                odd[i] = c.madcLo(a.w[i + 1], b, odd[i]);
                odd[i + 1] = c.madcHi(a.w[i + 1], b, odd[i + 1]);
            }
        }

        PINION_INLINE void addEven(const Field &a, uint32_t b) {
            Carry c;
            even[0] = c.madLo(a.w[0], b, even[0]);
            even[1] = c.madcHi(a.w[0], b, even[1]);
            addEven(c, a, b);
        }
        PINION_INLINE void addEven(Carry &c, const Field &a, uint32_t b) {
            PINION_UNROLL
            for (int i = 2; i < words; i += 2) {
                even[i] = c.madcLo(a.w[i], b, even[i]);
                even[i + 1] = c.madcHi(a.w[i], b, even[i + 1]);
            }
            odd[words - 1] = c.addcLast(odd[words - 1], 0);
        }

        // reduce adds the multiple of p that makes the lowest word zero.
        PINION_INLINE void reduce() { add(modulus(), even[0] * P::inverse); }

        // divide does the same with a multiple q (R - p), and returns the q whose q R has to be taken off. With a p that ends in 1 - 2^s, the
        // lowest word e makes q = e + 2^s e mod 2^32, and what the lowest word of R - p, 2^s - 1, adds to the next word is no product: with e it
        // comes to 2^32 times the upper bits of 2^s q and the carry of q. The next word of R - p is 0 where s is 32.
        PINION_INLINE uint32_t divide() {
            constexpr bool whole = P::lowest == 32;
            Carry c;
            uint32_t q = even[0];
            if constexpr (whole) {
                even[1] = c.add(even[1], q);
            } else {
                q = c.add(q, q << P::lowest);
                even[1] = c.addc(even[1], q >> (32 - P::lowest));
            }
            addEven(c, complement(), q);
            addOdd(complement(), q, whole ? 2 : 0);
            return q;
        }

        // sum ends the product.
        PINION_INLINE Field sum() const { return unreduced().reduced(); }

        PINION_INLINE Field unreduced() const {
            Field r;
            Carry c;
            r.w[0] = c.add(odd[0], even[1]);
            PINION_UNROLL
            for (int i = 1; i < words - 1; i++) r.w[i] = c.addc(odd[i], even[i + 1]);
            r.w[words - 1] = c.addcLast(odd[words - 1], 0);
            return r;
        }
    };
};

using Bn254Fr = Field<Bn254FrParams>;
using Bn254Fq = Field<Bn254FqParams>;
using Bls12381Fr = Field<Bls12381FrParams>;
using Bls12381Fq = Field<Bls12381FqParams>;

}  // namespace pinion

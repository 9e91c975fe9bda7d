// Scalars for measurements, and what results are checked by: sums of field operations alone, without digits, buckets or butterflies.
#pragma once

#include "../device/device.h"
#include "../field/field.h"

namespace pinion {

// fillScalars enqueues the making of n scalars below the modulus, those of seed, of which sparse in a thousand are zero or one, half and half.
template <class S>
void fillScalars(Stream &stream, S *scalars, size_t n, uint64_t seed, unsigned sparse);

// sumOfProducts is the sum of a[i] b[i], integers all. Like all here that returns scalars it waits for the stream.
template <class S>
S sumOfProducts(Stream &stream, const S *a, const S *b, size_t n);

// Places are where a polynomial has its values: first, first root, first root^2 and so on, 2^logN of them.
template <class S>
struct Places {
  S first, root;
  unsigned logN;

  static Places onDomain(unsigned logN) { return {S::one(), rootOf(logN), logN}; }
  static Places onOddCoset(unsigned logN) { return {rootOf(logN + 1), rootOf(logN), logN}; }

 private:
  static S rootOf(unsigned log) {
    S x;
    for (int i = 0; i < S::words; i++) x.w[i] = S::Params::root(i);
    for (int i = int(log); i < S::Params::twoAdicity; i++) x = x.squared();
    return x;
  }
};

// interpolated is the value at x of the polynomial of degree below 2^logN that has the values at the places.
template <class S>
S interpolated(Stream &stream, const S *values, const Places<S> &places, const S &x);

// evaluated is the value at x of the polynomial of 2^logN coefficients, which are in bit-reversed order.
template <class S>
S evaluated(Stream &stream, const S *coefficients, unsigned logN, const S &x);

// Chain is a run of products in registers. A thread starts from two factors and does count rounds of two products.
template <class S>
struct Chain {
  S a, b;

  PINION_HD S product(unsigned count) const {
    S x = a, y = b;
    for (unsigned i = 0; i < count; i++) {
      x = x * y;
      y = y * x;
    }
    return x + y;
  }
};

// multiply enqueues threads chains of 2 count products: thread i starts from factors[i] and factors[i + 1], and ends in results[i].
template <class S>
void multiply(Stream &stream, const S *factors, S *results, unsigned threads, unsigned count);

}  // namespace pinion

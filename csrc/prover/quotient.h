// What the points H are multiplied by.
#pragma once

#include "../ntt/domain.h"

namespace pinion {

template <class S>
PINION_KERNEL_BOUNDS(256, 1) multiplyPointwise(const S *a, const S *b, S *c, size_t n) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) c[i] = a[i] * b[i];
}

// combine overwrites a with ab first - c second.
template <class S>
PINION_KERNEL_BOUNDS(256, 1) combine(S *a, const S *b, const S *c, size_t n, S first, S second) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) a[i] = a[i] * b[i] * first - c[i] * second;
}

// reversePoints swaps points so that the one of number i is at i with its logN bits reversed.
template <class G>
PINION_KERNEL_BOUNDS(256, 1) reversePoints(G *points, unsigned logN) {
  const size_t n = size_t(1) << logN;
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    size_t j = 0;
    for (unsigned bit = 0; bit < logN; bit++) j |= (i >> bit & 1) << (logN - 1 - bit);
    if (i >= j) continue;
    const G point = points[i];
    points[i] = points[j];
    points[j] = point;
  }
}

// Form says how a and b hold their numbers.
enum class Form { integer, montgomery };

// quotient enqueues the making of what the points H are multiplied by, as integers, from count vectors of values of a and of b on the
// domain, in the natural order. They are vector after vector: the a, the b, and room for as many of c. The result takes the place of a:
// the values of ab - c on the odd coset or, with powers, the coefficients of h = (ab - c) / Z in bit-reversed order. On the coset Z is -2.
//
// Neither the transforms nor the products of words scale, so everything is off by powers of n and R that the last factors make up for.
template <class S>
void quotient(Stream &stream, const Domain<S> &domain, S *vectors, unsigned count, Form form, bool powers) {
  const size_t n = domain.size() * count;
  S *a = vectors, *b = vectors + n, *c = vectors + 2 * n;
  stream.launch("multiplyPointwise", Shape{blocksFor(n, 256), 256}, multiplyPointwise<S>, static_cast<const S *>(a), static_cast<const S *>(b), c, n);
  domain.toCoset(stream, vectors, 3 * count);
  S size = S::one();
  for (size_t i = 1; i < domain.size(); i *= 2) size = size.doubled();
  S second = size.inverse();
  S first = second.squared();
  if (powers) {
    const S divisor = -size.doubled().inverse();
    first = first * divisor;
    second = second * divisor;
  }
  if (form == Form::montgomery) {
    first = first.toInteger();
    second = second.toInteger();
  } else {
    const S radix = S::fromInteger(S::one());
    first = first * radix;
    second = second * radix;
  }
  stream.launch("combine", Shape{blocksFor(n, 256), 256}, combine<S>, a, static_cast<const S *>(b), static_cast<const S *>(c), n, first, second);
  if (powers) domain.fromCoset(stream, a, count);
  stream.device().flip(PINION_FLIP_NTT, stream, a, n * sizeof(S));
}

}  // namespace pinion

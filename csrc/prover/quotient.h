// The values of h = ab - c on the odd coset, as a zkey's H wants them.
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

// Form says how a and b hold their numbers.
enum class Form { integer, montgomery };

// quotient enqueues the making of h, as integers, from count vectors of values of a and of b on the domain, in the natural order. They
// are vector after vector: the a, the b, and room for as many of c. h takes the place of a.
//
// Neither the transforms nor the products of words scale, so everything is off by powers of n and R that the last factors make up for.
template <class S>
void quotient(Stream &stream, const Domain<S> &domain, S *vectors, unsigned count, Form form) {
  const size_t n = domain.size() * count;
  S *a = vectors, *b = vectors + n, *c = vectors + 2 * n;
  stream.launch("multiplyPointwise", Shape{blocksFor(n, 256), 256}, multiplyPointwise<S>, static_cast<const S *>(a), static_cast<const S *>(b), c, n);
  domain.toCoset(stream, vectors, 3 * count);
  S size = S::one();
  for (size_t i = 1; i < domain.size(); i *= 2) size = size.doubled();
  S second = size.inverse();
  S first = second.squared();
  if (form == Form::montgomery) {
    first = first.toInteger();
    second = second.toInteger();
  } else {
    const S radix = S::fromInteger(S::one());
    first = first * radix;
    second = second * radix;
  }
  stream.launch("combine", Shape{blocksFor(n, 256), 256}, combine<S>, a, static_cast<const S *>(b), static_cast<const S *>(c), n, first, second);
  stream.device().flip(PINION_FLIP_NTT, stream, a, n * sizeof(S));
}

}  // namespace pinion

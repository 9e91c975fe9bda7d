#include "scalars.h"

#include <algorithm>
#include <vector>

#include "../curve/point.h"

namespace pinion {

namespace {

// SplitMix64 of Steele, Lea and Flood.
PINION_HD uint64_t mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

struct Random {
  uint64_t state;

  PINION_HD Random(uint64_t seed, uint64_t i) : state(mixed(seed ^ mixed(i))) {}
  PINION_HD uint64_t next() { return mixed(state += 0x9e3779b97f4a7c15ull); }
};

template <class S>
PINION_HD S uniform(Random &random) {
  S s;
  do {
    for (int i = 0; i < S::words; i += 2) {
      const uint64_t w = random.next();
      s.w[i] = uint32_t(w);
      s.w[i + 1] = uint32_t(w >> 32);
    }
    s.w[S::words - 1] &= (1u << (S::Params::bits - 32 * (S::words - 1))) - 1;
  } while (!s.inRange());
  return s;
}

template <class S>
PINION_KERNEL_BOUNDS(256, 1) randomScalars(S *scalars, size_t n, uint64_t seed, unsigned sparse) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    Random random(seed, i);
    const unsigned kind = unsigned(random.next() % 1000);
    S s = S::zero();
    if (kind < sparse) {
      s.w[0] = kind & 1;
    } else {
      s = uniform<S>(random);
    }
    scalars[i] = s;
  }
}

template <class S>
PINION_KERNEL_BOUNDS(256, 1) productSums(const S *a, const S *b, size_t n, S *partial) {
  S sum = S::zero();
  for (size_t i = globalThread(); i < n; i += globalThreads()) sum = sum + a[i] * b[i];
  partial[globalThread()] = sum;
}

// interpolations writes the sums of v p / (x - p) over a thread's values v at places p: of each a fraction, with one inversion in the end.
template <class S>
PINION_KERNEL_BOUNDS(256, 1) interpolations(const S *values, Places<S> places, S x, S *partial) {
  const S step = places.root.power(globalThreads());
  S place = places.first * places.root.power(globalThread());
  S numerator = S::zero(), denominator = S::one();
  for (size_t i = globalThread(); i < size_t(1) << places.logN; i += globalThreads()) {
    const S distance = x - place;
    numerator = numerator * distance + values[i] * place * denominator;
    denominator = denominator * distance;
    place = place * step;
  }
  partial[globalThread()] = numerator * denominator.inverse();
}

template <class S>
PINION_KERNEL_BOUNDS(256, 1) evaluations(const S *coefficients, unsigned logN, S x, S *partial) {
  S sum = S::zero();
  for (size_t i = globalThread(); i < size_t(1) << logN; i += globalThreads()) {
    size_t power = 0;
    for (unsigned j = 0; j < logN; j++) power |= (i >> j & 1) << (logN - 1 - j);
    sum = sum + coefficients[i] * x.power(power);
  }
  partial[globalThread()] = sum;
}

template <class S>
PINION_KERNEL_BOUNDS(128, 1) chains(const S *factors, S *results, unsigned count) {
  const size_t i = globalThread();
  results[i] = Chain<S>{factors[i], factors[i + 1]}.product(count);
}

// total launches a kernel that leaves partial sums of n terms, a thread each, and adds them up.
template <class S, class Launch>
S total(Stream &stream, size_t n, Launch launch) {
  const Shape shape{blocksFor(n, 256, 1 << 8), 256};
  Buffer<S> partial(stream.device(), size_t(shape.blocks) * shape.threads);
  std::vector<S> sums(partial.size());
  launch(shape, partial.data());
  stream.copyOut(sums.data(), partial.data(), partial.bytes());
  stream.synchronize();
  S sum = S::zero();
  for (const S &s : sums) sum = sum + s;
  return sum;
}

}  // namespace

template <class S>
void fillScalars(Stream &stream, S *scalars, size_t n, uint64_t seed, unsigned sparse) {
  stream.launch("randomScalars", Shape{blocksFor(n, 256, 1 << 16), 256}, randomScalars<S>, scalars, n, seed, sparse);
}

template <class S>
S sumOfProducts(Stream &stream, const S *a, const S *b, size_t n) {
  const S sum = total<S>(stream, n, [&](Shape shape, S *partial) { stream.launch("productSums", shape, productSums<S>, a, b, n, partial); });
  return S::fromInteger(sum);  // products of words are short of R
}

// The barycentric form: the places are the roots of X^n - first^n, whose derivative at the place p is n first^n / p.
template <class S>
S interpolated(Stream &stream, const S *values, const Places<S> &places, const S &x) {
  const uint64_t n = uint64_t(1) << places.logN;
  const S sum = total<S>(stream, n, [&](Shape shape, S *partial) { stream.launch("interpolations", shape, interpolations<S>, values, places, x, partial); });
  const S constant = places.first.power(n);
  S divisor = constant;
  for (unsigned i = 0; i < places.logN; i++) divisor = divisor.doubled();
  return sum * (x.power(n) - constant) * divisor.inverse();
}

template <class S>
S evaluated(Stream &stream, const S *coefficients, unsigned logN, const S &x) {
  return total<S>(stream, size_t(1) << logN, [&](Shape shape, S *partial) { stream.launch("evaluations", shape, evaluations<S>, coefficients, logN, x, partial); });
}

template <class S>
void multiply(Stream &stream, const S *factors, S *results, unsigned threads, unsigned count) {
  stream.launch("chains", Shape{threads / 128, 128}, chains<S>, factors, results, count);
}

#define PINION_SCALARS(S)                                                                  \
  template void fillScalars(Stream &, S *, size_t, uint64_t, unsigned);                    \
  template S sumOfProducts(Stream &, const S *, const S *, size_t);                        \
  template S interpolated(Stream &, const S *, const Places<S> &, const S &);              \
  template S evaluated(Stream &, const S *, unsigned, const S &);                          \
  template void multiply(Stream &, const S *, S *, unsigned, unsigned);

PINION_SCALARS(Bn254Fr)
PINION_SCALARS(Bls12381Fr)

}  // namespace pinion

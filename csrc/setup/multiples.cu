#include "multiples.h"

#include <algorithm>

#include "../msm/plan.h"
#include "generators.h"

namespace pinion {

namespace setup {

// fillRow writes the multiples 1 to n, which is a power of two, of the base of a window: the generator, or twice the last multiple of
// the row below.
template <class F>
PINION_KERNEL_BOUNDS(128, 1) fillRow(Affine<F> generator, const Affine<F> *below, size_t n, Xyzz<F> *sums) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    Xyzz<F> base = Xyzz<F>::from(below ? below[n - 1] : generator);
    if (below) base.twice();
    Xyzz<F> sum = Xyzz<F>::infinity();
    for (size_t bit = n; bit != 0; bit /= 2) {
      sum.twice();
      if ((i + 1) & bit) sum.add(base);
    }
    sums[i] = sum;
  }
}

// addDigits writes the multiples that n scalars are. It sets *wrong where a scalar isn't below the order.
template <class F, class S>
PINION_KERNEL_BOUNDS(128, 1) addDigits(const S *scalars, size_t n, Windows windows, const Affine<F> *table, Xyzz<F> *sums, unsigned *wrong) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    const S scalar = scalars[i];
    if (!scalar.inRange()) atomicOr(wrong, 1u);
    msm::Digits<S> digits{scalar, windows.bits};
    Xyzz<F> sum = Xyzz<F>::infinity();
    for (int w = 0; w < windows.count; w++) {
      const int d = digits.next();
      if (d == 0) continue;
      const Affine<F> p = table[size_t(w) * windows.buckets() + (d < 0 ? -d : d) - 1];
      sum.add(d < 0 ? -p : p);
    }
    sums[i] = sum;
  }
}

// normalise makes n sums affine: a thread takes every stride-th of them, and one inversion. In between, points hold in x the product of
// the denominators before.
template <class F>
PINION_KERNEL_BOUNDS(128, 1) normalise(const Xyzz<F> *sums, size_t n, size_t stride, Affine<F> *points) {
  const size_t first = globalThread();
  if (first >= stride) return;
  F product = F::one();
  size_t end = first;
  for (; end < n; end += stride) {
    points[end].x = product;
    if (!sums[end].isInfinity()) product = product * sums[end].zzz;
  }
  F inverse = product.inverse();
  while (end > first) {
    end -= stride;
    const Xyzz<F> sum = sums[end];
    if (sum.isInfinity()) {
      points[end] = Affine<F>::infinity();
      continue;
    }
    const F i = inverse * points[end].x;     // zzz^-1
    const F j = (i * sum.zz).squared();      // zz^-1
    inverse = inverse * sum.zzz;
    points[end] = {sum.x * j, sum.y * i};
  }
}

// enqueueNormalise has a thread take 16 sums.
template <class F>
void enqueueNormalise(Stream &stream, const Xyzz<F> *sums, size_t n, Affine<F> *points) {
  const size_t stride = (n + 15) / 16;
  stream.launch("normalise", Shape{blocksFor(stride, 128), 128}, normalise<F>, sums, n, stride, points);
}

}  // namespace setup

template <class F, class S>
Windows Multiples<F, S>::choose(size_t n) {
  Windows best;
  double least = 0;
  for (int bits = 2; bits <= 16; bits++) {
    const Windows w = Windows::of(bits, S::Params::bits, 1);
    const double cost = double(w.count) * (double(n) + 1.5 * bits * w.buckets());
    if (best.bits == 0 || cost < least) {
      best = w;
      least = cost;
    }
  }
  return best;
}

template <class F, class S>
Multiples<F, S>::Multiples(Device &device, Stream &stream, size_t n)
    : windows_(choose(n)),
      table_(device, size_t(windows_.count) * windows_.buckets()),
      scalars_(device, std::min(n, most)),
      sums_(device, std::max<size_t>(std::min(n, most), windows_.buckets())),
      wrong_(device, 1) {
  const size_t row = windows_.buckets();
  for (int w = 0; w < windows_.count; w++) {
    Affine<F> *to = table_.data() + w * row;
    const Affine<F> *below = w ? to - row : nullptr;
    stream.launch("fillRow", Shape{blocksFor(row, 128), 128}, setup::fillRow<F>, generator<F>(), below, row, sums_.data());
    setup::enqueueNormalise(stream, sums_.data(), row, to);
  }
  stream.clear(wrong_.data(), wrong_.bytes());
}

template <class F, class S>
void Multiples<F, S>::run(Stream &stream, const void *scalars, size_t n, Affine<F> *points) {
  if (n == 0) return;
  stream.copyIn(scalars_.data(), scalars, n * sizeof(S));
  stream.launch("addDigits", Shape{blocksFor(n, 128), 128}, setup::addDigits<F, S>, scalars_.data(), n, windows_, table_.data(), sums_.data(), wrong_.data());
  setup::enqueueNormalise(stream, sums_.data(), n, points);
}

template <class F, class S>
void Multiples<F, S>::check(Stream &stream) {
  unsigned found = 0;
  stream.copyOut(&found, wrong_.data(), sizeof found);
  stream.synchronize();
  if (found) throw Failure(PINION_INVALID, "a scalar is not below the order of the group");
}

template <class F, class S>
void multiplesOf(Device &device, const void *scalars, size_t n, void *points) {
  using M = Multiples<F, S>;
  Stream stream(device);
  M multiples(device, stream, n);
  Buffer<Affine<F>> piece(device, std::min(n, M::most));
  for (size_t at = 0; at < n; at += M::most) {
    const size_t count = std::min(M::most, n - at);
    multiples.run(stream, static_cast<const S *>(scalars) + at, count, piece.data());
    stream.copyOut(static_cast<Affine<F> *>(points) + at, piece.data(), count * sizeof(Affine<F>));
  }
  multiples.check(stream);
}

#define PINION_HERE
PINION_MULTIPLES(PINION_HERE, Bn254, G1)
PINION_MULTIPLES(PINION_HERE, Bn254, G2)
PINION_MULTIPLES(PINION_HERE, Bls12381, G1)
PINION_MULTIPLES(PINION_HERE, Bls12381, G2)

}  // namespace pinion

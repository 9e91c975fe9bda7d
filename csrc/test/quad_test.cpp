// Points across lanes against the same sums in one thread.
#include "../curve/pair.h"
#include "../curve/quad.h"
#include "check.h"
#include "random.h"

#include <vector>

using namespace pinion;

namespace {

template <class P>
PINION_KERNEL add(const typename P::Memory *a, const typename P::Memory *b, typename P::Memory *sums, typename P::Memory *doubles) {
  const size_t item = globalThread() / P::lanes;
  P sum = P::load(a[item]), twice = sum;
  sum.add(P::load(b[item]));
  twice.twice();
  sum.store(sums[item]);
  twice.store(doubles[item]);
}

template <class F>
F some();
template <>
Bn254Fq some() { return randomElement<Bn254Fq>(); }
template <>
Bls12381Fq some() { return randomElement<Bls12381Fq>(); }
template <>
Fp2<Bn254Fq> some() { return {some<Bn254Fq>(), some<Bn254Fq>()}; }
template <>
Fp2<Bls12381Fq> some() { return {some<Bls12381Fq>(), some<Bls12381Fq>()}; }

// points are multiples of a point of a curve y^2 = x^3 + b of some b, which no formula has.
template <class F>
std::vector<Xyzz<F>> points(size_t n) {
  std::vector<Xyzz<F>> all{Xyzz<F>::from({some<F>(), some<F>()})};
  while (all.size() < n) {
    Xyzz<F> next = all.back();
    next.twice();
    if (all.size() % 3 == 0) next.add(all.front());
    all.push_back(next);
  }
  return all;
}

template <class P, class F>
void quads(const char *name) {
  const size_t n = 64;
  std::vector<Xyzz<F>> a = points<F>(n), b = points<F>(n + 9);
  b.erase(b.begin(), b.begin() + 9);
  // Runs of these, and one among others: the lanes of a warp differ.
  for (size_t i = 0; i < n; i++) {
    const size_t kind = i < 32 ? i / 4 : i % 8;
    if (kind == 1) a[i] = Xyzz<F>::infinity();
    if (kind == 2) b[i] = Xyzz<F>::infinity();
    if (kind == 3) b[i] = Xyzz<F>::from(a[i].toAffine());
    if (kind == 4) b[i] = Xyzz<F>::from(-a[i].toAffine());
    if (kind == 5) a[i].zz = a[i].zzz = b[i].zz = b[i].zzz = F::zero();  // as sums of opposite points are
  }
  std::vector<Xyzz<F>> sums(n), doubles(n);
  Device device(0);
  Stream stream(device);
  Buffer<Xyzz<F>> first(device, n), second(device, n), third(device, n), fourth(device, n);
  stream.copyIn(first.data(), a.data(), first.bytes());
  stream.copyIn(second.data(), b.data(), second.bytes());
  stream.launch("add", Shape{unsigned(n * P::lanes / 64), 64}, add<P>, static_cast<const Xyzz<F> *>(first.data()),
                static_cast<const Xyzz<F> *>(second.data()), third.data(), fourth.data());
  stream.copyOut(sums.data(), third.data(), third.bytes());
  stream.copyOut(doubles.data(), fourth.data(), fourth.bytes());
  stream.synchronize();
  for (size_t i = 0; i < n; i++) {
    Xyzz<F> sum = a[i], twice = a[i];
    sum.add(b[i]);
    twice.twice();
    CHECK(sums[i].toAffine() == sum.toAffine(), "%s: sum %zu", name, i);
    CHECK(doubles[i].toAffine() == twice.toAffine(), "%s: double %zu", name, i);
  }
}

}  // namespace

TEST(quad) {
  quads<Alone<Bn254Fq>, Bn254Fq>("Alone, BN254 G1");
  quads<Quad<Bn254Fq>, Bn254Fq>("BN254 G1");
  quads<Quad<Bls12381Fq>, Bls12381Fq>("BLS12-381 G1");
  quads<Quad<Pair<Bn254Fq>>, Fp2<Bn254Fq>>("BN254 G2");
  quads<Quad<Pair<Bls12381Fq>>, Fp2<Bls12381Fq>>("BLS12-381 G2");
}

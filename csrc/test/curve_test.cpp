// Points of both groups, in one thread and, of G2, in two lanes: every sum of two of those that are at infinity, equal, opposite and
// apart.
#include "../curve/pair.h"
#include "../curve/point.h"
#include "../msm/sums.h"
#include "check.h"
#include "vectors.h"

using namespace pinion;

namespace {

// over is p over the denominator z.
template <class F>
Xyzz<F> over(const Affine<F> &p, const F &z) {
  if (p.isInfinity()) return Xyzz<F>::infinity();
  const F zz = z.squared(), zzz = z * zz;
  return {p.x * zz, p.y * zzz, zz, zzz};
}

template <class F>
void group(const std::string &name, const std::string &field) {
  const auto p = Vectors::get<Affine<F>>(name), sums = Vectors::get<Affine<F>>(name + " sums"), doubles = Vectors::get<Affine<F>>(name + " doubles");
  const auto numbers = Vectors::get<F>(field);
  const F z = numbers[numbers.size() - 1], z2 = numbers[numbers.size() - 2];
  for (size_t i = 0; i < p.size(); i++) {
    CHECK(over(p[i], z).toAffine() == p[i], "%s, %zu", name.c_str(), i);
    Xyzz<F> d = over(p[i], z);
    d.twice();
    CHECK(d.toAffine() == doubles[i], "%s, %zu", name.c_str(), i);
    d = Xyzz<F>::from(p[i]);
    d.twice();
    CHECK(d.toAffine() == doubles[i], "%s, %zu", name.c_str(), i);
    for (size_t j = 0; j < p.size(); j++) {
      Xyzz<F> mixed = over(p[i], z), same = mixed, full = mixed, plain = Xyzz<F>::from(p[i]);
      plain.add(p[j]);
      mixed.add(p[j]);
      same.add(over(p[j], z));
      full.add(over(p[j], z2));
      const Affine<F> &want = sums[i * p.size() + j];
      CHECK(plain.toAffine() == want, "%s, %zu and %zu", name.c_str(), i, j);
      CHECK(mixed.toAffine() == want, "%s, %zu and %zu", name.c_str(), i, j);
      CHECK(same.toAffine() == want, "%s, %zu and %zu", name.c_str(), i, j);
      CHECK(full.toAffine() == want, "%s, %zu and %zu", name.c_str(), i, j);
      full.add(-want);
      CHECK(full.isInfinity(), "%s, %zu and %zu: less their sum", name.c_str(), i, j);
    }
  }
}

// addPairs adds affine points to points, and then the other points; an item is two lanes.
template <class F>
PINION_KERNEL addPairs(Xyzz<Fp2<F>> *points, const Affine<Fp2<F>> *affine, const Xyzz<Fp2<F>> *others, Xyzz<Fp2<F>> *twice, size_t n) {
  using T = Pair<F>;
  const size_t item = msm::itemIndex<T>(), at = item < n ? item : n - 1;
  Xyzz<T> mixed = msm::load<T>(points[at]), full = mixed, doubled = mixed;
  mixed.add(msm::load<T>(affine[at]));
  full.add(msm::load<T>(others[at]));
  doubled.twice();
  if (item >= n) return;
  msm::store<T>(points[2 * n + item], mixed);
  msm::store<T>(points[n + item], full);
  msm::store<T>(twice[item], doubled);
}

// multiplyPairs does what a field's elements have beside sums.
template <class F>
PINION_KERNEL multiplyPairs(const Fp2<F> *x, const Fp2<F> *y, Fp2<F> *products, Fp2<F> *squares, Fp2<F> *combinations, size_t n) {
  using T = Pair<F>;
  const size_t item = msm::itemIndex<T>(), at = item < n ? item : n - 1;
  const T a = T::load(x[at]), b = T::load(y[at]);
  const T product = a * b, square = a.squared(), combination = T::combine(a, b, b, -a) + T::combine(a, T::one(), b, b);
  if (item >= n) return;
  product.store(products[item]);
  square.store(squares[item]);
  combination.store(combinations[item]);
}

template <class F>
void pairs(const std::string &name, const std::string &field) {
  using E = Fp2<F>;
  Device device(0);
  Stream stream(device);
  const auto x = Vectors::get<E>(field), want = Vectors::get<E>(field + " products"), squares = Vectors::get<E>(field + " squares");
  const size_t n = x.size() * x.size();
  std::vector<E> left, right, got(3 * n);
  for (size_t k = 0; k < n; k++) left.push_back(x[k / x.size()]), right.push_back(x[k % x.size()]);
  Buffer<E> memory(device, 5 * n);
  stream.copyIn(memory.data(), left.data(), n * sizeof(E));
  stream.copyIn(memory.data() + n, right.data(), n * sizeof(E));
  stream.launch("multiplyPairs", Shape{blocksFor(2 * n, 64), 64}, multiplyPairs<F>, memory.data(), memory.data() + n, memory.data() + 2 * n,
                memory.data() + 3 * n, memory.data() + 4 * n, n);
  stream.copyOut(got.data(), memory.data() + 2 * n, 3 * n * sizeof(E));
  stream.synchronize();
  for (size_t k = 0; k < n; k++) {
    CHECK(got[k] == want[k], "%s, product %zu", field.c_str(), k);
    CHECK(got[n + k] == squares[k / x.size()], "%s, square %zu", field.c_str(), k);
    CHECK(got[2 * n + k] == left[k] + squares[k % x.size()], "%s, combination %zu", field.c_str(), k);
  }

  const auto p = Vectors::get<Affine<E>>(name), sums = Vectors::get<Affine<E>>(name + " sums"), doubles = Vectors::get<Affine<E>>(name + " doubles");
  const size_t m = sums.size();
  std::vector<Xyzz<E>> points, others, results(4 * m);
  std::vector<Affine<E>> affine;
  for (size_t k = 0; k < m; k++) {
    affine.push_back(p[k % p.size()]);
    points.push_back(over(p[k / p.size()], x[x.size() - 1]));
    others.push_back(over(affine.back(), x[x.size() - 2]));
  }
  Buffer<Xyzz<E>> on(device, 5 * m);
  Buffer<Affine<E>> affineOn(device, m);
  stream.copyIn(on.data(), points.data(), m * sizeof(Xyzz<E>));
  stream.copyIn(on.data() + 4 * m, others.data(), m * sizeof(Xyzz<E>));
  stream.copyIn(affineOn.data(), affine.data(), m * sizeof(Affine<E>));
  stream.launch("addPairs", Shape{blocksFor(2 * m, 64), 64}, addPairs<F>, on.data(), static_cast<const Affine<E> *>(affineOn.data()),
                static_cast<const Xyzz<E> *>(on.data() + 4 * m), on.data() + 3 * m, m);
  stream.copyOut(results.data(), on.data(), 4 * m * sizeof(Xyzz<E>));
  stream.synchronize();
  for (size_t k = 0; k < m; k++) {
    CHECK(results[2 * m + k].toAffine() == sums[k], "%s, %zu and %zu, one affine", name.c_str(), k / p.size(), k % p.size());
    CHECK(results[m + k].toAffine() == sums[k], "%s, %zu and %zu", name.c_str(), k / p.size(), k % p.size());
    CHECK(results[3 * m + k].toAffine() == doubles[k / p.size()], "%s, twice %zu", name.c_str(), k / p.size());
  }
}

}  // namespace

TEST(curve_bn254_g1) { group<Bn254::G1>("bn254 g1", "bn254 q"); }
TEST(curve_bn254_g2) { group<Bn254::G2>("bn254 g2", "bn254 q2"); }
TEST(curve_bls12381_g1) { group<Bls12381::G1>("bls12381 g1", "bls12381 q"); }
TEST(curve_bls12381_g2) { group<Bls12381::G2>("bls12381 g2", "bls12381 q2"); }
TEST(curve_bn254_pairs) { pairs<Bn254Fq>("bn254 g2", "bn254 q2"); }
TEST(curve_bls12381_pairs) { pairs<Bls12381Fq>("bls12381 g2", "bls12381 q2"); }

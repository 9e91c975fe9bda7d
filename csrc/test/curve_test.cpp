// Points of both groups, in one thread and, of G2, in two lanes: every sum of two of those that are at infinity, equal, opposite and
// apart.
#include "../curve/pair.h"
#include "../curve/point.h"
#include "../curve/quad.h"
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

// addMixed adds affine points to points; an item is two lanes.
template <class F>
PINION_KERNEL addMixed(const Xyzz<Fp2<F>> *points, const Affine<Fp2<F>> *affine, Xyzz<Fp2<F>> *sums, size_t n) {
  using T = Pair<F>;
  const size_t item = msm::itemIndex<T>(), at = item < n ? item : n - 1;
  Xyzz<T> sum = msm::load<T>(points[at]);
  sum.add(msm::load<T>(affine[at]));
  if (item < n) msm::store<T>(sums[item], sum);
}

// addLanes adds points, and doubles the first of them, as P has them in lanes.
template <class P>
PINION_KERNEL addLanes(const typename P::Memory *points, const typename P::Memory *others, typename P::Memory *sums, typename P::Memory *doubles,
                       size_t n) {
  const size_t item = globalThread() / P::lanes, at = item < n ? item : n - 1;
  P sum = P::load(points[at]), twice = sum;
  sum.add(P::load(others[at]));
  twice.twice();
  if (item >= n) return;
  sum.store(sums[item]);
  twice.store(doubles[item]);
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

// pairs are the elements of an extension in two lanes each.
template <class F>
void pairs(const std::string &field) {
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
}

// Two has every two of the points, each over a denominator of its own.
template <class F>
struct Two {
  Device device{0};
  Stream stream{device};
  std::vector<Affine<F>> p, sums, doubles, seconds;
  size_t n;
  Buffer<Xyzz<F>> points, others, results;

  Two(const std::string &name, const std::string &field)
      : p(Vectors::get<Affine<F>>(name)),
        sums(Vectors::get<Affine<F>>(name + " sums")),
        doubles(Vectors::get<Affine<F>>(name + " doubles")),
        n(sums.size()),
        points(device, n),
        others(device, n),
        results(device, 2 * n) {
    const auto x = Vectors::get<F>(field);
    std::vector<Xyzz<F>> left, right;
    for (size_t k = 0; k < n; k++) {
      seconds.push_back(p[k % p.size()]);
      left.push_back(over(p[k / p.size()], x[x.size() - 1]));
      right.push_back(over(seconds[k], x[x.size() - 2]));
    }
    stream.copyIn(points.data(), left.data(), points.bytes());
    stream.copyIn(others.data(), right.data(), others.bytes());
    stream.synchronize();
  }

  void check(const char *what, bool doubled) {
    std::vector<Xyzz<F>> got(2 * n);
    stream.copyOut(got.data(), results.data(), results.bytes());
    stream.synchronize();
    for (size_t k = 0; k < n; k++) {
      CHECK(got[k].toAffine() == sums[k], "%s: %zu and %zu", what, k / p.size(), k % p.size());
      if (doubled) CHECK(got[n + k].toAffine() == doubles[k / p.size()], "%s: twice %zu", what, k / p.size());
    }
  }
};

template <class P, class F>
void lanes(const std::string &name, const std::string &field) {
  Two<F> two(name, field);
  two.stream.launch("addLanes", Shape{blocksFor(two.n * P::lanes, 64), 64}, addLanes<P>, static_cast<const Xyzz<F> *>(two.points.data()),
                    static_cast<const Xyzz<F> *>(two.others.data()), two.results.data(), two.results.data() + two.n, two.n);
  two.check(name.c_str(), true);
}

template <class F>
void mixed(const std::string &name, const std::string &field) {
  using E = Fp2<F>;
  Two<E> two(name, field);
  Buffer<Affine<E>> affine(two.device, two.n);
  two.stream.copyIn(affine.data(), two.seconds.data(), affine.bytes());
  two.stream.launch("addMixed", Shape{blocksFor(2 * two.n, 64), 64}, addMixed<F>, static_cast<const Xyzz<E> *>(two.points.data()),
                    static_cast<const Affine<E> *>(affine.data()), two.results.data(), two.n);
  two.check(name.c_str(), false);
}

}  // namespace

TEST(curve_bn254_g1) { group<Bn254::G1>("bn254 g1", "bn254 q"); }
TEST(curve_bn254_g2) { group<Bn254::G2>("bn254 g2", "bn254 q2"); }
TEST(curve_bls12381_g1) { group<Bls12381::G1>("bls12381 g1", "bls12381 q"); }
TEST(curve_bls12381_g2) { group<Bls12381::G2>("bls12381 g2", "bls12381 q2"); }

TEST(curve_bn254_lanes) {
  pairs<Bn254Fq>("bn254 q2");
  mixed<Bn254Fq>("bn254 g2", "bn254 q2");
  lanes<Alone<Bn254Fq>, Bn254Fq>("bn254 g1", "bn254 q");
  lanes<Quad<Bn254Fq>, Bn254Fq>("bn254 g1", "bn254 q");
  lanes<Quad<Pair<Bn254Fq>>, Fp2<Bn254Fq>>("bn254 g2", "bn254 q2");
}

TEST(curve_bls12381_lanes) {
  pairs<Bls12381Fq>("bls12381 q2");
  mixed<Bls12381Fq>("bls12381 g2", "bls12381 q2");
  lanes<Quad<Bls12381Fq>, Bls12381Fq>("bls12381 g1", "bls12381 q");
  lanes<Quad<Pair<Bls12381Fq>>, Fp2<Bls12381Fq>>("bls12381 g2", "bls12381 q2");
}

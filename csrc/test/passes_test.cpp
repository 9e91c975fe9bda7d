// Sums in several passes, over a subset of the places of a vector.
#include "../msm/msm.h"
#include "../msm/passes.h"
#include "../msm/subset.h"
#include "../msm/tables.h"
#include "../setup/generators.h"
#include "check.h"
#include "random.h"

using namespace pinion;

namespace {

// sumOf adds up the products of points at infinity, the generator and its opposite.
template <class F, class S>
Affine<F> sumOf(const std::vector<Affine<F>> &points, const S *scalars) {
  const Affine<F> g = pinion::generator<F>();
  Xyzz<F> sum = Xyzz<F>::infinity();
  for (int bit = 32 * S::words - 1; bit >= 0; bit--) {
    sum.twice();
    for (size_t i = 0; i < points.size(); i++) {
      if (!points[i].isInfinity() && scalars[i].w[bit / 32] >> (bit % 32) & 1) sum.add(points[i] == g ? g : -g);
    }
  }
  return sum.toAffine();
}

// passesOf sums up over the places that have points. The last pass has a group too many.
template <class F, class S>
void passesOf(const char *group) {
  const size_t n = 1500;  // more than a tile
  const int vectors = 2;
  Device device(0);
  std::vector<Affine<F>> points(n, Affine<F>::infinity());
  std::vector<S> scalars(n * vectors, S::zero());
  std::vector<uint32_t> places;
  for (uint32_t i = 3; i < n; i += i % 7 == 0 ? 90 : 41) {
    points[i] = i % 2 ? pinion::generator<F>() : -pinion::generator<F>();
    places.push_back(i);
    for (int v = 0; v < vectors; v++) scalars[v * n + i] = randomElement<S>();
  }
  scalars[0] = randomElement<S>();  // of a point at infinity
  Windows windows = Windows::of(9, S::Params::bits, 3);
  windows.passes = 4;
  CHECK(windows.pass().groups * windows.passes > windows.groups, "%d groups", windows.groups);
  Stream stream(device);
  Buffer<Affine<F>> tables(device, n * windows.tables), room(device, 7);
  Buffer<uint32_t> indices(device, n);
  Buffer<S> input(device, scalars.size());
  Buffer<Xyzz<F>> totals(device, vectors), sums(device, vectors);
  stream.copyIn(tables.data(), points.data(), n * sizeof(points[0]));
  stream.copyIn(input.data(), scalars.data(), scalars.size() * sizeof(S));
  const Subset subset = findSubset(stream, tables.data(), tables.data(), n, indices.data());
  std::vector<uint32_t> found(subset.count);
  stream.copyOut(found.data(), indices.data(), found.size() * sizeof(uint32_t));
  moveTogether(stream, tables.data(), subset, room.data(), room.size());
  fillTables(stream, tables.data(), subset.count, windows);
  const int64_t before = device.used();
  Plan<S> plan(device, n, vectors, windows);
  CHECK(device.used() - before == int64_t(Plan<S>::bytes(device, n, vectors, windows)), "%s: bytes of a plan in passes", group);
  Sums<F> of(device, plan.capacity(), vectors, windows.pass());
  for (int pass = windows.passes; pass-- > 0;) {
    const bool first = pass == windows.passes - 1;
    plan.make(stream, input.data(), false, vectors, pass, subset);
    of.run(stream, plan, static_cast<const Affine<F> *>(tables.data()), first ? totals.data() : sums.data());
    if (!first) carryOver(stream, windows, totals.data(), static_cast<const Xyzz<F> *>(sums.data()), vectors);
  }
  std::vector<Xyzz<F>> got(vectors);
  stream.copyOut(got.data(), totals.data(), totals.bytes());
  stream.synchronize();
  CHECK(found == places, "%s: %zu places of points, want %zu", group, found.size(), places.size());
  for (int v = 0; v < vectors; v++) CHECK(got[v].toAffine() == sumOf(points, &scalars[v * n]), "%s: vector %d in passes", group, v);
}

}  // namespace

TEST(passes_of_sums) {
  passesOf<Bn254::G1, Bn254Fr>("BN254 G1");
  passesOf<Bls12381::G2, Bls12381Fr>("BLS12-381 G2");
}

// Sums where lanes share points, as on a card: all is slow there, so these are few and go through every kernel.
#ifdef PINION_LANES
#include "../msm/subset.h"
#include "msm_test.h"

TEST(msm_lanes) {
  Device device(0);
  for (const char *name : {"mixed", "hot bucket"}) {
    sumsOf<Bn254::G1, Bn254::Scalar>(std::string("bn254 g1 ") + name, device, Vectors::get<Affine<Bn254::G1>>("bn254 g1 points"));
  }
  sumsOf<Bn254::G2, Bn254::Scalar>("bn254 g2 two vectors", device, Vectors::get<Affine<Bn254::G2>>("bn254 g2 points"));
}

// Points at infinity in both arrays are left out, in one alone they aren't.
TEST(msm_lanes_subset) {
  using G = Affine<Bn254::G1>;
  const std::vector<G> points = Vectors::get<G>("bn254 g1 points");
  const size_t n = 2 * msm::tile + 7;
  std::vector<G> one(n, G::infinity()), other(n, G::infinity());
  std::vector<uint32_t> expected;
  for (size_t i = 0; i < n; i++) {
    if (i % 3 == 0) one[i] = points[1];
    if (i % 7 == 2) other[i] = points[1];
    if (i % 3 == 0 || i % 7 == 2) expected.push_back(uint32_t(i));
  }
  CHECK(!points[1].isInfinity());
  Device device(0);
  Stream stream(device);
  Buffer<G> a(device, n), b(device, n);
  Buffer<uint32_t> indices(device, n);
  stream.copyIn(a.data(), one.data(), a.bytes());
  stream.copyIn(b.data(), other.data(), b.bytes());
  const Subset subset = findSubset(stream, a.data(), b.data(), n, indices.data());
  std::vector<uint32_t> found(subset.count);
  stream.copyOut(found.data(), indices.data(), found.size() * sizeof(uint32_t));
  stream.synchronize();
  CHECK(found == expected, "%zu places found, %zu expected", found.size(), expected.size());
}

#endif

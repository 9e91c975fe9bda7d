// Transforms, single and in batches, of sizes with one and with several passes.
#include "../ntt/domain.h"
#include "check.h"
#include "vectors.h"

using namespace pinion;

namespace {

template <class F>
void transforms(const std::string &curve, unsigned logN) {
  const std::string name = curve + " ntt " + std::to_string(logN) + " ";
  const auto coefficients = Vectors::get<F>(name + "coefficients"), values = Vectors::get<F>(name + "values"), coset = Vectors::get<F>(name + "coset");
  const unsigned count = unsigned(coefficients.size() >> logN);
  Device device(0);
#ifndef __CUDACC__
  device.set(PINION_PROCESSORS, 4);  // whose threads have two, four (2^11) or eight elements (2^13)
#endif
  Stream stream(device);
  const Domain<F> domain(device, stream, logN);
  Buffer<F> memory(device, coefficients.size());
  auto check = [&](const char *what, const std::vector<F> &from, void (Domain<F>::*transform)(Stream &, F *, unsigned) const, const std::vector<F> &want) {
    std::vector<F> got(from.size());
    stream.copyIn(memory.data(), from.data(), memory.bytes());
    (domain.*transform)(stream, memory.data(), count);
    stream.copyOut(got.data(), memory.data(), memory.bytes());
    stream.synchronize();
    for (size_t i = 0; i < got.size(); i++) {
      if (got[i] != want[i]) return CHECK(false, "%s%s, element %zu of %u vectors", name.c_str(), what, i, count);
    }
  };
  check("toValues", coefficients, &Domain<F>::toValues, values);
  check("toCosetValues", coefficients, &Domain<F>::toCosetValues, coset);
  const auto scaled = Vectors::get<F>(name + "coefficients scaled");
  check("toCoefficients", values, &Domain<F>::toCoefficients, scaled);
  check("fromCoset", coset, &Domain<F>::fromCoset, scaled);
  check("toCoset", values, &Domain<F>::toCoset, Vectors::get<F>(name + "coset scaled"));
}

}  // namespace

TEST(ntt_bn254) {
  for (unsigned logN = 1; logN <= 13; logN++) transforms<Bn254Fr>("bn254", logN);
}

TEST(ntt_bls12381) {
  for (unsigned logN = 1; logN <= 13; logN++) transforms<Bls12381Fr>("bls12381", logN);
}

// Multiples of the generators.
#include "../setup/generators.h"
#include "../setup/multiples.h"
#include "check.h"
#include "vectors.h"

#include <algorithm>

using namespace pinion;

namespace {

template <class F, class S>
void multiplesAre(const std::string &name, size_t most) {
  auto scalars = Vectors::get<S>(name + " multiples integers");
  const auto want = Vectors::get<Affine<F>>(name + " multiples");
  scalars.resize(std::min(most, scalars.size()));
  Device device(0);
  std::vector<Affine<F>> got(scalars.size());
  multiplesOf<F, S>(device, scalars.data(), scalars.size(), got.data());
  for (size_t i = 0; i < got.size(); i++) CHECK(got[i] == want[i], "%s: multiple %zu of %zu", name.c_str(), i, got.size());
  CHECK(device.used() == 0);
}

template <class F, class S>
int codeOf(const S &scalar) {
  Device device(0);
  Affine<F> point;
  try {
    multiplesOf<F, S>(device, &scalar, 1, &point);
  } catch (const Failure &failure) {
    return failure.code();
  }
  return PINION_OK;
}

}  // namespace

TEST(setup_multiples) {
  for (size_t n : {1, 20, 70}) multiplesAre<Bn254::G1, Bn254Fr>("bn254 g1", n);
  multiplesAre<Bn254::G2, Bn254Fr>("bn254 g2", 70);
  multiplesAre<Bls12381::G1, Bls12381Fr>("bls12381 g1", 70);
  multiplesAre<Bls12381::G2, Bls12381Fr>("bls12381 g2", 50);
}

TEST(setup_scalars_are_checked) {
  Bn254Fr scalar = Bn254Fr::modulus();
  CHECK((codeOf<Bn254::G1, Bn254Fr>(scalar)) == PINION_INVALID);
  scalar.w[0] -= 1;
  CHECK((codeOf<Bn254::G1, Bn254Fr>(scalar)) == PINION_OK);
}

// Multiples of the generators against doubling and adding on the host.
#include "../setup/generators.h"
#include "../setup/multiples.h"
#include "check.h"
#include "random.h"

using namespace pinion;

namespace {

template <class F, class S>
Affine<F> multipleOf(const Affine<F> &p, const S &scalar) {
  Xyzz<F> sum = Xyzz<F>::infinity();
  for (int i = 32 * S::words - 1; i >= 0; i--) {
    sum.twice();
    if (scalar.w[i / 32] >> (i % 32) & 1) sum.add(p);
  }
  return sum.toAffine();
}

template <class F, class S>
void multiplesAre(const char *name, size_t n) {
  std::vector<S> scalars(n, S::zero());
  for (size_t i = 0; i < n; i++) {
    if (i % 9 == 1) scalars[i].w[0] = uint32_t(i);
    if (i % 9 == 2) scalars[i] = S::modulus(), scalars[i].w[0] -= 1;
    if (i % 9 > 2) scalars[i] = randomElement<S>();
  }
  Device device(0);
  std::vector<Affine<F>> got(n);
  multiplesOf<F, S>(device, scalars.data(), n, got.data());
  for (size_t i = 0; i < n; i++) CHECK(got[i] == multipleOf(generator<F>(), scalars[i]), "%s: multiple %zu of %zu", name, i, n);
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
  for (size_t n : {1, 20, 150}) multiplesAre<Bn254::G1, Bn254Fr>("BN254 G1", n);
  multiplesAre<Bn254::G2, Bn254Fr>("BN254 G2", 40);
  multiplesAre<Bls12381::G1, Bls12381Fr>("BLS12-381 G1", 40);
  multiplesAre<Bls12381::G2, Bls12381Fr>("BLS12-381 G2", 25);
}

TEST(setup_scalars_are_checked) {
  Bn254Fr scalar = Bn254Fr::modulus();
  CHECK((codeOf<Bn254::G1, Bn254Fr>(scalar)) == PINION_INVALID);
  scalar.w[0] -= 1;
  CHECK((codeOf<Bn254::G1, Bn254Fr>(scalar)) == PINION_OK);
}

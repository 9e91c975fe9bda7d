#include "msm_test.h"

#ifdef PINION_LANES

// Where lanes share points all is slow: sums that go through every kernel.
TEST(msm_lanes) {
  Device device(0);
  for (const char *name : {"mixed", "hot bucket"}) {
    sumsOf<Bn254::G1, Bn254::Scalar>(std::string("bn254 g1 ") + name, device, Vectors::get<Affine<Bn254::G1>>("bn254 g1 points"));
  }
  sumsOf<Bn254::G2, Bn254::Scalar>("bn254 g2 two vectors", device, Vectors::get<Affine<Bn254::G2>>("bn254 g2 points"));
}

#else

TEST(msm_bn254_g1) {
  Device device(0);
  group<Bn254::G1, Bn254::Scalar>("bn254 g1", device);
  CHECK(device.used() == 0);
}

TEST(msm_bn254_g2) {
  Device device(0);
  group<Bn254::G2, Bn254::Scalar>("bn254 g2", device);
  CHECK(device.used() == 0);
}

TEST(msm_bls12_381_g1) {
  Device device(0);
  group<Bls12381::G1, Bls12381::Scalar>("bls12381 g1", device);
  CHECK(device.used() == 0);
}

TEST(msm_bls12_381_g2) {
  Device device(0);
  group<Bls12381::G2, Bls12381::Scalar>("bls12381 g2", device);
  CHECK(device.used() == 0);
}

#endif

#include "msm_test.h"

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

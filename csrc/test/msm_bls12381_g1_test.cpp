#include "msm_test.h"

TEST(msm_bls12381_g1) {
  Device device(0);
  group<Bls12381::G1, Bls12381::Scalar>("bls12381 g1", device);
  CHECK(device.used() == 0);
}

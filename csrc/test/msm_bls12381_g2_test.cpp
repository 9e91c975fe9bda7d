#include "msm_test.h"

TEST(msm_bls12381_g2) {
  Device device(0);
  group<Bls12381::G2, Bls12381::Scalar>("bls12381 g2", device);
  CHECK(device.used() == 0);
}

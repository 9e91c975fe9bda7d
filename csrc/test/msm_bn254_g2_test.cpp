#include "msm_test.h"

TEST(msm_bn254_g2) {
  Device device(0);
  group<Bn254::G2, Bn254::Scalar>("bn254 g2", device);
  CHECK(device.used() == 0);
}

#include "msm_test.h"

TEST(msm_bn254_g1) {
  Device device(0);
  group<Bn254::G1, Bn254::Scalar>("bn254 g1", device);
  CHECK(device.used() == 0);
}

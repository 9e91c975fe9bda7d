// The check of a witness on the device.
#pragma once

#include "../device/device.h"
#include "../field/field.h"

namespace pinion {

// noElement says that there is nothing wrong; firstElement that the first one isn't 1.
constexpr unsigned noElement = ~0u;

// checkWitnesses sets bad[i] to the index of the first element of witness i that isn't below the modulus, or of the first of all if it
// isn't 1. A vector has n elements: the witness, and the two of the blinding.
template <class S>
PINION_KERNEL_BOUNDS(256, 1) checkWitnesses(const S *vectors, uint32_t n, unsigned *bad) {
  const unsigned witness = blockIndexY();
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    const S x = vectors[size_t(witness) * n + i];
    bool good = x.inRange();
    if (i == 0) {
      S one = S::zero();
      one.w[0] = 1;
      good = x == one;
    }
    if (!good) atomicMin(&bad[witness], unsigned(i));
  }
}

}  // namespace pinion

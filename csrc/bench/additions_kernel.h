// The kernel of additions.h, which each group compiles in a file of its own.
#pragma once

#include "additions.h"
#include "../curve/held.h"
#include "../msm/sums.h"

namespace pinion {

template <class T>
PINION_KERNEL_BOUNDS(128, msm::gatherBlocks<T>) additions(const Affine<typename T::Memory> *points, unsigned mask, unsigned count, Xyzz<typename T::Memory> *sums) {
  const size_t item = msm::itemIndex<T>();
  Xyzz<T> sum = Xyzz<T>::infinity();
  for (unsigned i = 0; i < count; i++) sum.add(msm::load<T>(points[(item * 7 + i) & mask]));
  msm::store<T>(sums[item], sum);
}

template <class F>
void addUp(Stream &stream, const Affine<F> *points, unsigned mask, unsigned items, unsigned count, Xyzz<F> *sums) {
  using T = typename Held<F>::Type;
  stream.launch("additions", Shape{items * T::lanes / 128, 128}, additions<T>, points, mask, count, sums);
}

}  // namespace pinion

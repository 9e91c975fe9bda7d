// The rate of bare additions.
#pragma once

#include "../curve/point.h"
#include "../device/device.h"

namespace pinion {

// addUp enqueues items sums of count points each: that of item i is of points 7 i, 7 i + 1 and so on, of mask + 1 points that lie in the cache.
// items is a multiple of 128.
template <class F>
void addUp(Stream &stream, const Affine<F> *points, unsigned mask, unsigned items, unsigned count, Xyzz<F> *sums);

}  // namespace pinion

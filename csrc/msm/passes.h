// Sums that are made in several passes.
#pragma once

#include "../curve/held.h"
#include "sums.h"

namespace pinion {

namespace msm {

// carryOver adds a pass's sums to those of the passes before it, which are of higher groups: totals are 2^doublings totals + sums.
template <class P>
PINION_KERNEL_BOUNDS(128, 1) carryOver(typename P::Memory *totals, const typename P::Memory *sums, int doublings, size_t count) {
  const size_t item = itemIndex<P>();
  if (item - itemLane<P>() >= count) return;
  const bool on = item < count;
  P total = P::load(totals[on ? item : count - 1]);
  for (int i = 0; i < doublings; i++) total.twice();
  total.add(P::load(sums[on ? item : count - 1]));
  if (on) total.store(totals[item]);
}

}  // namespace msm

// carryOver enqueues it for count sums of passes of windows.
template <class F>
void carryOver(Stream &stream, const Windows &windows, Xyzz<F> *totals, const Xyzz<F> *sums, size_t count) {
  using P = typename Held<F>::Point;
  stream.launch("carryOver", Shape{blocksFor(count * P::lanes, 128), 128}, msm::carryOver<P>, totals, sums, windows.bits * windows.pass().groups, count);
}

}  // namespace pinion

// Tables of multiples of fixed bases.
#pragma once

#include "sums.h"

namespace pinion {

namespace msm {

// multiply writes 2^doublings times n points.
template <class F>
PINION_KERNEL_BOUNDS(128, 1) multiply(const Affine<F> *points, size_t n, int doublings, Affine<F> *multiples) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    Xyzz<F> p = Xyzz<F>::from(points[i]);
    for (int k = 0; k < doublings; k++) p.twice();
    multiples[i] = p.toAffine();
  }
}

}  // namespace msm

// fillTables enqueues the making of windows' tables: tables has room for n points in each, and the first table, the points, is there.
template <class F>
void fillTables(Stream &stream, Affine<F> *tables, size_t n, const Windows &windows) {
  for (int t = 1; t < windows.tables && n != 0; t++) {
    stream.launch("tables", Shape{blocksFor(n, 128), 128}, msm::multiply<F>, tables + (t - 1) * n, n, windows.bits * windows.groups,
                  tables + t * n);
  }
}

}  // namespace pinion

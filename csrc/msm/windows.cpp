#include "windows.h"

#include <algorithm>

namespace pinion {

namespace {

// The costs of things in additions of an affine point to a bucket, from measurements on one H200.
constexpr double entry = 1.25;  // an addition and its share of the sort
constexpr double bucket = 3.5;  // two additions of points that aren't affine, and clearing
constexpr double doubling = 6e3;  // one point is doubled while the card waits

// 2^23 buckets of the largest points are 3 GiB.
constexpr int widest = 23;

}  // namespace

Windows Windows::of(int bits, int scalarBits, int maxTables) {
  Windows w;
  w.bits = bits;
  w.count = scalarBits / bits + 1;  // a bit more than the scalar's, for the carry of the last window
  w.groups = (w.count + std::max(maxTables, 1) - 1) / std::max(maxTables, 1);
  w.tables = (w.count + w.groups - 1) / w.groups;
  return w;
}

Windows Windows::pass() const {
  Windows w = *this;
  w.groups = (groups + passes - 1) / passes;
  w.count = w.groups * tables;
  w.passes = 1;
  return w;
}

Windows Windows::choose(int scalarBits, size_t n, int vectors, int maxTables) {
  Windows best;
  double least = 0;
  for (int bits = 2; bits <= widest; bits++) {
    const Windows w = of(bits, scalarBits, maxTables);
    const double cost = entry * double(n) * vectors * w.count + bucket * double(w.sets(vectors)) * w.buckets() +
                        doubling * bits * (w.groups - 1);
    if (best.bits == 0 || cost < least) {
      best = w;
      least = cost;
    }
  }
  return best;
}

}  // namespace pinion

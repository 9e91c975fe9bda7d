// The kernels that sum what a Plan has sorted.
//
// A kernel's F is how threads hold a coordinate: Field and Fp2 in one thread, Pair in two lanes. F::Memory is how memory does. Item is
// the index of what a thread, or its pair, works on.
#pragma once

#include "../curve/point.h"
#include "../device/device.h"
#include "plan.h"

namespace pinion::msm {

template <class F>
using Stored = Xyzz<typename F::Memory>;

template <class F>
PINION_DEVICE size_t itemIndex() { return globalThread() / F::lanes; }
template <class F>
PINION_DEVICE unsigned itemLane() { return laneIndex() / F::lanes; }
// warpItems is how many items a warp works on.
template <class F>
constexpr unsigned warpItems = 32 / F::lanes;

template <class F>
PINION_DEVICE Xyzz<F> load(const Stored<F> &m) {
  return {F::load(m.x), F::load(m.y), F::load(m.zz), F::load(m.zzz)};
}

template <class F>
PINION_DEVICE Affine<F> load(const Affine<typename F::Memory> &m) {
  return {F::load(m.x), F::load(m.y)};
}

template <class F>
PINION_DEVICE void store(Stored<F> &m, const Xyzz<F> &p) {
  p.x.store(m.x);
  p.y.store(m.y);
  p.zz.store(m.zz);
  p.zzz.store(m.zzz);
}

// moved is p with each word from another lane.
template <class F, class Move>
PINION_DEVICE Xyzz<F> moved(const Xyzz<F> &p, Move move) {
#ifdef __CUDA_ARCH__
  constexpr int words = sizeof(Xyzz<F>) / sizeof(uint32_t);
  Xyzz<F> r;
  const uint32_t *from = reinterpret_cast<const uint32_t *>(&p);
  uint32_t *to = reinterpret_cast<uint32_t *>(&r);
  PINION_UNROLL
  for (int i = 0; i < words; i++) to[i] = move(from[i]);
  return r;
#else
  return move(p);  // the software device moves any value
#endif
}

// Partial sums are the first and the last sum of each piece of a list by bucket: of buckets that may go on in a neighbouring piece.
// There are two to a piece, so that their keys are again in order; the sums between them are whole, and go to their buckets.
template <class F>
struct Partials {
  uint32_t *keys;
  Stored<F> *sums;
};

// gatherBlocks is how many blocks of 128 threads a multiprocessor takes at once, by the registers of a point.
template <class F>
constexpr int gatherBlocks = (sizeof(F) > 32 ? 4 : 5) - F::lanes;

// gather adds up entries: each item takes length of them, whatever their buckets are, so that all items have the same to do.
template <class F>
PINION_KERNEL_BOUNDS(128, gatherBlocks<F>) gather(const uint32_t *keys, const Entry *entries, uint32_t size, uint32_t length,
                          const Affine<typename F::Memory> *tables, Stored<F> *buckets, Partials<F> partials) {
  const size_t item = itemIndex<F>();
  const uint64_t start = uint64_t(item) * length;
  // A warp stays together until its last item is done.
  const uint64_t warpStart = uint64_t(item - itemLane<F>()) * length;
  if (warpStart >= size) return;
  const bool works = start < size;
  uint32_t key = keys[works ? start : size - 1];
  bool first = true;
  Xyzz<F> sum = Xyzz<F>::infinity();
  Entry entry = entries[works ? start : size - 1];
  Affine<F> ahead = load<F>(tables[entry & ~negative]);
  for (uint32_t i = 0; i < length; i++) {
    const uint64_t at = start + i;
    const bool on = at < size;
    Affine<F> point = ahead;
    const Entry sign = entry & negative;
    const uint32_t k = on ? keys[at] : key;
    const uint64_t next = at + 1 < size ? at + 1 : size - 1;
    entry = entries[next];
    ahead = load<F>(tables[entry & ~negative]);
    if (k != key) {
      if (first) {
        partials.keys[2 * item] = key;
        store<F>(partials.sums[2 * item], sum);
        first = false;
      } else {
        store<F>(buckets[key], sum);
      }
      key = k;
      sum = Xyzz<F>::infinity();
    }
    if (sign) point.y = -point.y;
    if (!on) point = Affine<F>::infinity();
    sum.add(point);
  }
  if (!works) return;
  if (first) {
    partials.keys[2 * item] = key;
    store<F>(partials.sums[2 * item], sum);
    sum = Xyzz<F>::infinity();
  }
  partials.keys[2 * item + 1] = key;
  store<F>(partials.sums[2 * item + 1], sum);
}

// merge adds up partial sums, a warp taking one to an item; of the last ones, when a warp has them all, each sum is whole.
template <class F>
PINION_KERNEL_BOUNDS(128, 2) merge(Partials<F> from, uint32_t size, Stored<F> *buckets, Partials<F> to) {
  constexpr unsigned items = warpItems<F>;
  const unsigned lane = itemLane<F>();
  const size_t item = itemIndex<F>();
  const size_t start = item - lane;
  if (start >= size) return;
  const bool on = item < size;
  const uint32_t key = from.keys[on ? item : size - 1];
  Xyzz<F> sum = load<F>(from.sums[on ? item : size - 1]);
  if (!on) sum = Xyzz<F>::infinity();
  for (unsigned by = 1; by < items; by *= 2) {
    const uint32_t otherKey = shuffleUp(key, by * F::lanes);
    const bool same = lane >= by && otherKey == key;
    if (ballot(same) == 0) break;
    Xyzz<F> other = moved<F>(sum, [=](auto w) { return shuffleUp(w, by * F::lanes); });
    if (!same) other = Xyzz<F>::infinity();
    sum.add(other);
  }
  const uint32_t nextKey = shuffleDown(key, F::lanes);
  const uint32_t firstKey = shuffle(key, 0), lastKey = shuffle(key, 31);
  const bool ends = lane == items - 1 || nextKey != key;
  if (size <= items) {
    if (ends) store<F>(buckets[key], sum);
    return;
  }
  const size_t pair = start / items * 2;
  if (ends && key == firstKey) {
    to.keys[pair] = key;
    store<F>(to.sums[pair], sum);
  }
  if (lane == items - 1) {
    if (firstKey == lastKey) sum = Xyzz<F>::infinity();
    to.keys[pair + 1] = lastKey;
    store<F>(to.sums[pair + 1], sum);
  } else if (ends && key != firstKey && key != lastKey) {
    store<F>(buckets[key], sum);
  }
}

// Weighted is what is left to sum of each set: that of extra[i] + i factor sums[i] over a set's i. Both have count to a set.
template <class F>
struct Weighted {
  Stored<F> *sums;
  Stored<F> *extra;
};

// slice begins with buckets, whose weight is their index and one, and takes length of them to an item.
template <class F>
PINION_KERNEL_BOUNDS(128, 2) slice(const Stored<F> *buckets, uint32_t length, size_t count, Weighted<F> to) {
  const size_t item = itemIndex<F>();
  if (item - itemLane<F>() >= count) return;
  const bool on = item < count;
  const Stored<F> *mine = buckets + (on ? item : count - 1) * length;
  Xyzz<F> sum = Xyzz<F>::infinity(), weighted = Xyzz<F>::infinity();
  for (uint32_t i = length; i-- > 0;) {
    sum.add(load<F>(mine[i]));
    weighted.add(sum);
  }
  if (!on) return;
  store<F>(to.sums[item], sum);
  store<F>(to.extra[item], weighted);
}

// fold takes the sums of a set a warp at a time: count to a set, of width items to a warp, which is a power of two. Weights of the sums
// are multiples of 2^doublings.
template <class F>
PINION_KERNEL_BOUNDS(128, 2) fold(Weighted<F> from, unsigned width, int doublings, size_t total, Weighted<F> to) {
  const unsigned lane = itemLane<F>();
  const size_t warp = itemIndex<F>() / warpItems<F>;
  if (warp * width >= total) return;
  const bool on = lane < width;
  const size_t at = warp * width + (on ? lane : 0);
  // Sums of all from a lane on: their sum, but for that of all, counts each lane's as often as its index.
  Xyzz<F> sum = load<F>(from.sums[at]);
  if (!on) sum = Xyzz<F>::infinity();
  for (unsigned by = 1; by < width; by *= 2) {
    Xyzz<F> other = moved<F>(sum, [=](auto w) { return shuffleDown(w, by * F::lanes); });
    if (lane + by >= width) other = Xyzz<F>::infinity();
    sum.add(other);
  }
  Xyzz<F> weighted = sum;
  if (lane == 0) weighted = Xyzz<F>::infinity();
  for (int i = 0; i < doublings; i++) weighted.twice();
  Xyzz<F> extra = load<F>(from.extra[at]);
  if (!on) extra = Xyzz<F>::infinity();
  weighted.add(extra);
  for (unsigned by = 1; by < width; by *= 2) {
    Xyzz<F> other = moved<F>(weighted, [=](auto w) { return shuffleDown(w, by * F::lanes); });
    if (lane + by >= width) other = Xyzz<F>::infinity();
    weighted.add(other);
  }
  if (lane != 0) return;
  store<F>(to.sums[warp], sum);
  store<F>(to.extra[warp], weighted);
}

// horner puts the sums of a vector's groups together: group g counts 2^(bits g).
template <class F>
PINION_KERNEL_BOUNDS(128, 1) horner(const Stored<F> *groupSums, int groups, int bits, uint32_t vectors, Stored<F> *results) {
  const size_t item = itemIndex<F>();
  if (item - itemLane<F>() >= vectors) return;
  const bool on = item < vectors;
  const Stored<F> *mine = groupSums + (on ? item : vectors - 1) * groups;
  Xyzz<F> sum = load<F>(mine[groups - 1]);
  for (int g = groups - 1; g-- > 0;) {
    for (int i = 0; i < bits; i++) sum.twice();
    sum.add(load<F>(mine[g]));
  }
  if (on) store<F>(results[item], sum);
}

}  // namespace pinion::msm

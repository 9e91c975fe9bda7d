// The kernels that sum what a Plan has sorted.
//
// A kernel's F is how threads hold a coordinate: Field and Fp2 in one thread, Pair in two lanes. F::Memory is how memory does. P is how
// they hold a point, P::Memory how memory does. Item is the index of what a thread, or the threads of one F or P, work on.
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

// Bases are arrays of points that are summed up at once, for the same scalars: block y of a launch does array y.
constexpr int abreast = 3;
template <class F>
struct Bases {
  const Affine<F> *tables[abreast];
};

template <class F>
PINION_DEVICE Xyzz<F> load(const Stored<F> &m) {
  return {F::load(m.x), F::load(m.y), F::load(m.zz), F::load(m.zzz)};
}

template <class F>
PINION_DEVICE Affine<F> load(const Affine<typename F::Memory> &m) {
  return {F::load(m.x), F::load(m.y)};
}

// expect prefetches a point, each lane its share.
template <class F>
PINION_DEVICE void expect(const Affine<typename F::Memory> &m) {
  constexpr size_t share = sizeof(m) / F::lanes;
  const char *mine = reinterpret_cast<const char *>(&m) + laneIndex() % F::lanes * share;
  PINION_UNROLL
  for (size_t at = 0; at < share; at += 32) prefetch(mine + at);
}

template <class F>
PINION_DEVICE void store(Stored<F> &m, const Xyzz<F> &p) {
  p.x.store(m.x);
  p.y.store(m.y);
  p.zz.store(m.zz);
  p.zzz.store(m.zzz);
}

// Partial sums are the first and the last sum of each piece of a list by bucket: of buckets that may go on in a neighbouring piece.
// There are two to a piece, so that their keys are again in order; the sums between them are whole, and go to their buckets. All arrays
// have the same keys; sums of an array are stride after those of the one before.
template <class M>
struct Partials {
  uint32_t *keys;
  M *sums;
  size_t stride;
};

// gatherBlocks is how many blocks of 128 threads a multiprocessor takes at once, by the registers of a point.
template <class F>
constexpr int gatherBlocks = (sizeof(F) > 32 ? 4 : 5) - F::lanes;

// gather adds up entries: each item takes length of them, whatever their buckets are, so that all items have the same to do. Each array
// has bucketCount buckets.
template <class F>
PINION_KERNEL_BOUNDS(128, gatherBlocks<F>) gather(const uint32_t *keys, const Entry *entries, uint32_t size, uint32_t length,
                          Bases<typename F::Memory> bases, Stored<F> *buckets, size_t bucketCount, Partials<Stored<F>> partials) {
  const Affine<typename F::Memory> *tables = bases.tables[blockIndexY()];
  buckets += blockIndexY() * bucketCount;
  partials.sums += blockIndexY() * partials.stride;
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
  for (uint32_t i = 0; i < length; i++) {
    const uint64_t at = start + i;
    const bool on = at < size;
    Affine<F> point = load<F>(tables[entry & ~negative]);
    const Entry sign = entry & negative;
    const uint32_t k = on ? keys[at] : key;
    entry = entries[at + 1 < size ? at + 1 : size - 1];
    expect<F>(tables[entry & ~negative]);  // registers are short, so it doesn't wait in them
    if (sign) point.y = -point.y;
    const bool none = point.isInfinity() | !on;
    bool keep = none;
    if (k != key || i == 0) {
      if (i != 0) {
        if (first) partials.keys[2 * item] = key;
        store<F>(first ? partials.sums[2 * item] : buckets[key], sum);
        first = false;
      }
      key = k;
      // The first point of a bucket is its sum.
      sum = none ? Xyzz<F>::infinity() : Xyzz<F>{point.x, point.y, F::one(), F::one()};
      keep = true;
    }
    sum.add(point, keep);
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

// taken is the point of item from of the block, by way of shared memory. All of the block come.
template <class P>
PINION_DEVICE P taken(const P &p, unsigned at, unsigned from, typename P::Memory *shared) {
  p.store(shared[at]);
  barrier();
  const P other = P::load(shared[from]);
  barrier();
  return other;
}

// A block of merge or fold works on so many items.
constexpr unsigned blockItems = 32;

// merge adds up partial sums, a block taking one to an item; of the last ones, when a block has them all, each sum is whole.
template <class P>
PINION_KERNEL_BOUNDS(blockItems *P::lanes, 1) merge(Partials<typename P::Memory> from, uint32_t size, typename P::Memory *buckets,
                                                     size_t bucketCount, Partials<typename P::Memory> to) {
  PINION_SHARED typename P::Memory shared[blockItems];
  buckets += blockIndexY() * bucketCount;
  from.sums += blockIndexY() * from.stride;
  to.sums += blockIndexY() * to.stride;
  const unsigned at = threadIndex() / P::lanes;
  const uint32_t start = blockIndex() * blockItems;
  const auto index = [=](unsigned item) { return start + item < size ? start + item : size - 1; };
  const uint32_t key = from.keys[index(at)];
  P sum = P::load(from.sums[index(at)]);
  if (start + at >= size) sum = P::infinity();
  for (unsigned by = 1; by < blockItems; by *= 2) {
    const bool same = at >= by && from.keys[index(at - by)] == key;
    P other = taken(sum, at, same ? at - by : at, shared);
    if (ballot(same) == 0) continue;
    if (!same) other = P::infinity();
    sum.add(other);
  }
  const uint32_t firstKey = from.keys[index(0)], lastKey = from.keys[index(blockItems - 1)];
  const bool ends = at == blockItems - 1 || from.keys[index(at + 1)] != key;
  if (size <= blockItems) {
    if (ends) sum.store(buckets[key]);
    return;
  }
  const size_t pair = size_t(blockIndex()) * 2;
  if (ends && key == firstKey) {
    to.keys[pair] = key;
    sum.store(to.sums[pair]);
  }
  if (at == blockItems - 1) {
    if (firstKey == lastKey) sum = P::infinity();
    to.keys[pair + 1] = lastKey;
    sum.store(to.sums[pair + 1]);
  } else if (ends && key != firstKey && key != lastKey) {
    sum.store(buckets[key]);
  }
}

// Weighted is what is left to sum of each set: that of extra[i] + i factor sums[i] over a set's i. Both have count to a set.
template <class M>
struct Weighted {
  M *sums;
  M *extra;
};

// slice begins with buckets, whose weight is their index and one, and takes length of them to an item.
template <class P>
PINION_KERNEL_BOUNDS(128, 2) slice(const typename P::Memory *buckets, uint32_t length, size_t count, Weighted<typename P::Memory> to) {
  const size_t item = itemIndex<P>();
  if (item - itemLane<P>() >= count) return;
  const bool on = item < count;
  const typename P::Memory *mine = buckets + (on ? item : count - 1) * length;
  P sum = P::infinity(), weighted = P::infinity();
  for (uint32_t i = length; i-- > 0;) {
    sum.add(P::load(mine[i]));
    weighted.add(sum);
  }
  if (!on) return;
  sum.store(to.sums[item]);
  weighted.store(to.extra[item]);
}

// fold takes the sums of a set a block at a time: width of them, which is a power of two. Weights of the sums are multiples of
// 2^doublings.
template <class P>
PINION_KERNEL_BOUNDS(blockItems *P::lanes, 1) fold(Weighted<typename P::Memory> from, unsigned width, int doublings,
                                                    Weighted<typename P::Memory> to) {
  PINION_SHARED typename P::Memory shared[blockItems];
  const unsigned at = threadIndex() / P::lanes;
  const bool on = at < width;
  const size_t index = size_t(blockIndex()) * width + (on ? at : 0);
  // Sums of all from an item on: their sum, but for that of all, counts each item's as often as its index.
  P sum = P::load(from.sums[index]);
  if (!on) sum = P::infinity();
  for (unsigned by = 1; by < width; by *= 2) {
    P other = taken(sum, at, at + by < width ? at + by : at, shared);
    if (at + by >= width) other = P::infinity();
    sum.add(other);
  }
  P weighted = sum;
  if (at == 0) weighted = P::infinity();
  for (int i = 0; i < doublings; i++) weighted.twice();
  P other = P::load(from.extra[index]);
  if (!on) other = P::infinity();
  for (unsigned by = width;; by /= 2) {
    weighted.add(other);
    if (by == 1) break;
    other = taken(weighted, at, at < by / 2 ? at + by / 2 : at, shared);
    if (at >= by / 2) other = P::infinity();
  }
  if (at != 0) return;
  sum.store(to.sums[blockIndex()]);
  weighted.store(to.extra[blockIndex()]);
}

// horner puts the sums of a vector's groups together: group g counts 2^(bits g). Results of an array's vectors are stride after those of
// the one before.
template <class P>
PINION_KERNEL_BOUNDS(128, 1) horner(const typename P::Memory *groupSums, int groups, int bits, uint32_t vectors, uint32_t arrays,
                                    typename P::Memory *results, size_t stride) {
  const size_t item = itemIndex<P>(), count = size_t(vectors) * arrays;
  if (item - itemLane<P>() >= count) return;
  const bool on = item < count;
  const typename P::Memory *mine = groupSums + (on ? item : count - 1) * groups;
  P sum = P::load(mine[groups - 1]);
  for (int g = groups - 1; g-- > 0;) {
    for (int i = 0; i < bits; i++) sum.twice();
    sum.add(P::load(mine[g]));
  }
  if (on) sum.store(results[item / vectors * stride + item % vectors]);
}

}  // namespace pinion::msm

// Sums of products of points by scalars, in the way of Pippenger.
//
// Scalars are cut into signed digits, the digits sorted by bucket (plan.h); pieces of equal length of the sorted list are added up side by
// side, whatever the sizes of the buckets, and what a bucket has in several pieces is put together in a few rounds (sums.h); the weighted
// sum of the buckets is taken in slices that fill the card, and then warp by warp.
#pragma once

#include <algorithm>

#include "sums.h"

namespace pinion {

// Held is how a kernel's threads hold a coordinate that memory holds as an F: elements of an extension field take a pair of lanes on a
// card. On the software device, where moving from lane to lane is slow, a thread holds all of it unless the test asks for pairs.
template <class F>
struct Held {
  using Type = F;
};
#if defined(__CUDACC__) || defined(PINION_PAIRS)
}  // namespace pinion
#include "../curve/pair.h"
namespace pinion {
template <class B>
struct Held<Fp2<B>> {
  using Type = Pair<B>;
};
#endif

// Sums has the memory to sum up one array of bases after another, with coordinates F, for plans of one shape. One stream uses it at a
// time.
template <class F>
class Sums {
  using T = typename Held<F>::Type;
  using Point = Xyzz<F>;

 public:
  // Sums for plans of at most capacity entries, with windows and at most vectors scalars to a point.
  Sums(Device &device, size_t capacity, int vectors, Windows windows)
      : device_(device),
        windows_(windows),
        buckets_(device, bucketCount(vectors, windows)),
        partialKeys_(device, partialCount(device, capacity)),
        partialSums_(device, partialCount(device, capacity)),
        mergedKeys_(device, mergedCount(device, capacity)),
        mergedSums_(device, mergedCount(device, capacity)),
        slices_(device, 2 * sliceCount(device, vectors, windows)),
        folds_(device, 2 * foldCount(device, vectors, windows)) {}

  // bytes is the device memory that it takes.
  static size_t bytes(Device &device, size_t capacity, int vectors, Windows windows) {
    return sizeof(Point) * (bucketCount(vectors, windows) + 2 * sliceCount(device, vectors, windows) +
                            2 * foldCount(device, vectors, windows)) +
           (sizeof(Point) + sizeof(uint32_t)) * (partialCount(device, capacity) + mergedCount(device, capacity));
  }

  // run enqueues the sums of a plan's products with bases: its tables one after the other, as many points in each as the plan has. It
  // writes a sum for each vector of the plan to results.
  template <class S>
  void run(Stream &stream, const Plan<S> &plan, const Affine<F> *tables, Point *results) {
    const uint32_t sets = windows_.sets(plan.vectors());
    stream.clear(buckets_.data(), size_t(sets) * windows_.buckets() * sizeof(Point));
    gather(stream, plan.keys(), plan.entries(), uint32_t(plan.size()), tables);
    reduce(stream, plan.vectors(), results);
  }

 private:
  static constexpr unsigned threads = 128;
  static constexpr unsigned items = 32 / T::lanes;
  static constexpr size_t shortest = 8, longest = 256;

  static size_t bucketCount(int vectors, Windows w) { return size_t(w.sets(vectors)) * w.buckets(); }
  // fill is how many items a card works on at once, with so many blocks to a processor.
  static size_t fill(Device &device, int blocks) { return size_t(device.processors()) * blocks * threads / T::lanes; }

  // rounds is how often the card is filled to gather size entries; pieces are of at most longest entries.
  static size_t rounds(Device &device, size_t size) { return pieces(size, fill(device, msm::gatherBlocks<T>) * longest); }

  // pieceLength is how many entries an item gathers: all items work at once, and none is left for another round.
  static uint32_t pieceLength(Device &device, size_t size) {
    return uint32_t(std::max<size_t>(pieces(size, fill(device, msm::gatherBlocks<T>) * rounds(device, size)), shortest));
  }
  // partialCount holds for smaller plans too.
  static size_t partialCount(Device &device, size_t size) {
    if (size == 0) return 0;
    return 2 * std::min(pieces(size, shortest), fill(device, msm::gatherBlocks<T>) * rounds(device, size));
  }
  static size_t mergedCount(Device &device, size_t size) { return 2 * pieces(partialCount(device, size), items); }
  static size_t pieces(size_t n, size_t length) { return (n + length - 1) / length; }

  // sliceLength divides the buckets of a set.
  static uint32_t sliceLength(Device &device, int vectors, Windows w) {
    uint32_t length = 1;
    while (length < w.buckets() && length < 64 && (length < 4 || bucketCount(vectors, w) / length > fill(device, 2))) length *= 2;
    return length;
  }
  static size_t sliceCount(Device &device, int vectors, Windows w) {
    // Fewer vectors take shorter slices.
    size_t most = 0;
    for (int v = 1; v <= vectors; v++) most = std::max(most, bucketCount(v, w) / sliceLength(device, v, w));
    return most;
  }
  static size_t foldCount(Device &device, int vectors, Windows w) {
    return pieces(sliceCount(device, vectors, w), items) + w.sets(vectors);
  }

  Shape shape(size_t n) const { return Shape{unsigned(pieces(n * T::lanes, threads)), threads}; }

  void gather(Stream &stream, const uint32_t *keys, const Entry *entries, uint32_t size, const Affine<F> *tables) {
    if (size == 0) return;
    const uint32_t length = pieceLength(device_, size);
    size_t n = pieces(size, length);
    msm::Partials<T> from{partialKeys_.data(), partialSums_.data()}, to{mergedKeys_.data(), mergedSums_.data()};
    stream.launch("gather", shape(n), msm::gather<T>, keys, entries, size, length, tables, buckets_.data(), from);
    for (n *= 2;; n = 2 * pieces(n, items)) {
      stream.launch("merge", shape(n), msm::merge<T>, from, uint32_t(n), buckets_.data(), to);
      if (n <= items) break;
      std::swap(from, to);
    }
  }

  void reduce(Stream &stream, int vectors, Point *results) {
    const uint32_t sets = windows_.sets(vectors);
    const uint32_t length = sliceLength(device_, vectors, windows_);
    size_t count = windows_.buckets() / length;  // to a set
    msm::Weighted<T> from{slices_.data(), slices_.data() + slices_.size() / 2};
    msm::Weighted<T> to{folds_.data(), folds_.data() + folds_.size() / 2};
    stream.launch("slice", shape(count * sets), msm::slice<T>, buckets_.data(), length, count * sets, from);
    int doublings = log2(length);
    while (count > 1) {
      const unsigned width = unsigned(std::min<size_t>(count, items));
      const size_t total = count * sets;
      stream.launch("fold", shape(total / width * items), msm::fold<T>, from, width, doublings, total, to);
      count /= width;
      doublings += log2(width);
      std::swap(from, to);
    }
    stream.launch("horner", shape(vectors), msm::horner<T>, from.extra, windows_.groups, windows_.bits, uint32_t(vectors), results);
    device_.flip(PINION_FLIP_MSM, stream, results, size_t(vectors) * sizeof(Point));
  }

  static int log2(size_t n) {
    int bits = 0;
    while (n >>= 1) bits++;
    return bits;
  }

  Device &device_;
  Windows windows_;
  Buffer<Point> buckets_;
  Buffer<uint32_t> partialKeys_;
  Buffer<Point> partialSums_;
  Buffer<uint32_t> mergedKeys_;
  Buffer<Point> mergedSums_;
  Buffer<Point> slices_, folds_;
};

}  // namespace pinion

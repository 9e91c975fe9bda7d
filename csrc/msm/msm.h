// Sums of products of points by scalars, in the way of Pippenger.
//
// Scalars are cut into signed digits, the digits sorted by bucket (plan.h); pieces of equal length of the sorted list are added up side by
// side, whatever the sizes of the buckets, and what a bucket has in several pieces is put together in a few rounds (sums.h); the weighted
// sum of the buckets is taken in slices that fill the card, and then block by block.
#pragma once

#include <algorithm>

#include "../curve/held.h"
#include "sums.h"

namespace pinion {

// Sums has the memory to sum up arrays of bases, with coordinates F, for plans of one shape. One stream uses it at a time.
template <class F>
class Sums {
  using T = typename Held<F>::Type;
  using P = typename Held<F>::Point;
  using Point = Xyzz<F>;

 public:
  // Sums for plans of at most capacity entries, with windows and at most vectors scalars to a point, that do at most arrays arrays at once.
  Sums(Device &device, size_t capacity, int vectors, Windows windows, int arrays = 1)
      : device_(device),
        windows_(windows),
        arrays_(arrays),
        buckets_(device, bucketCount(vectors, windows) * arrays),
        partialKeys_(device, partialCount(device, capacity, arrays)),
        partialSums_(device, partialCount(device, capacity, arrays) * arrays),
        mergedKeys_(device, mergedCount(device, capacity, arrays)),
        mergedSums_(device, mergedCount(device, capacity, arrays) * arrays),
        slices_(device, 2 * sliceCount(device, vectors, windows, arrays)),
        folds_(device, 2 * foldCount(device, vectors, windows, arrays)) {}

  // bytes is the device memory that it takes.
  static size_t bytes(Device &device, size_t capacity, int vectors, Windows windows, int arrays = 1) {
    const size_t partials = partialCount(device, capacity, arrays) + mergedCount(device, capacity, arrays);
    return sizeof(Point) * (bucketCount(vectors, windows) * arrays + 2 * sliceCount(device, vectors, windows, arrays) +
                            2 * foldCount(device, vectors, windows, arrays) + partials * arrays) +
           sizeof(uint32_t) * partials;
  }

  int arrays() const { return arrays_; }

  // run enqueues the sums of a plan's products with arrays of bases: the tables of each one after the other, as many points in each table
  // as the plan has. It writes a sum for each vector of the plan to results, and those of the next array stride further on.
  template <class S>
  void run(Stream &stream, const Plan<S> &plan, const msm::Bases<F> &bases, int arrays, Point *results, size_t stride) {
    stream.clear(buckets_.data(), bucketCount(plan.vectors(), windows_) * arrays * sizeof(Point));
    gather(stream, plan, bases, arrays);
    reduce(stream, plan.vectors(), arrays, results, stride);
  }

  // This run does one array.
  template <class S>
  void run(Stream &stream, const Plan<S> &plan, const Affine<F> *tables, Point *results) {
    run(stream, plan, msm::Bases<F>{{tables}}, 1, results, 0);
  }

 private:
  static constexpr unsigned threads = 128;
  static constexpr unsigned items = msm::blockItems;
  static constexpr size_t shortest = 16, longest = 256;

  static size_t bucketCount(int vectors, Windows w) { return size_t(w.sets(vectors)) * w.buckets(); }
  // fill is how many items of so many lanes a card works on at once, with so many blocks to a processor.
  static size_t fill(Device &device, int blocks, unsigned lanes) { return size_t(device.processors()) * blocks * threads / lanes; }
  static size_t gatherFill(Device &device) { return fill(device, msm::gatherBlocks<T>, T::lanes); }

  // rounds is how often the card is filled to gather size entries; pieces are of at most longest entries.
  static size_t rounds(Device &device, size_t size) { return pieces(size, gatherFill(device) * longest); }

  // pieceLength is how many entries of each array an item gathers: all items work at once, and none is left for another round.
  static uint32_t pieceLength(Device &device, size_t size, int arrays) {
    return uint32_t(std::max<size_t>(pieces(size * arrays, gatherFill(device) * rounds(device, size * arrays)), shortest));
  }
  // partialCount is of each array, and holds for smaller plans and fewer arrays too.
  static size_t partialCount(Device &device, size_t size, int arrays) {
    size_t most = 0;
    for (int a = 1; a <= arrays; a++) most = std::max(most, pieces(gatherFill(device) * rounds(device, size * a), a));
    return 2 * std::min(pieces(size, shortest), most);
  }
  static size_t mergedCount(Device &device, size_t size, int arrays) { return 2 * pieces(partialCount(device, size, arrays), items); }
  static size_t pieces(size_t n, size_t length) { return (n + length - 1) / length; }

  // sliceLength divides the buckets of a set: slices are as long as leaves the card two warps to a quarter of each processor.
  static uint32_t sliceLength(Device &device, int vectors, Windows w, int arrays) {
    uint32_t length = 1;
    while (length < w.buckets() && length < 64 && (length < 4 || bucketCount(vectors, w) * arrays / length > fill(device, 2, P::lanes))) length *= 2;
    return length;
  }
  static size_t sliceCount(Device &device, int vectors, Windows w, int arrays) {
    // Fewer vectors take shorter slices.
    size_t most = 0;
    for (int a = 1; a <= arrays; a++) {
      for (int v = 1; v <= vectors; v++) most = std::max(most, bucketCount(v, w) * a / sliceLength(device, v, w, a));
    }
    return most;
  }
  static size_t foldCount(Device &device, int vectors, Windows w, int arrays) {
    return pieces(sliceCount(device, vectors, w, arrays), items) + w.sets(vectors) * arrays;
  }

  // shape has n items of so many lanes.
  Shape shape(size_t n, unsigned lanes, int arrays = 1) const {
    return Shape{unsigned(pieces(n * lanes, threads)), threads, 0, unsigned(arrays)};
  }

  template <class S>
  void gather(Stream &stream, const Plan<S> &plan, const msm::Bases<F> &bases, int arrays) {
    if (plan.size() == 0) return;
    const size_t buckets = bucketCount(plan.vectors(), windows_);
    const uint32_t length = pieceLength(device_, plan.size(), arrays);
    size_t n = pieces(plan.size(), length);
    msm::Partials<Point> from{partialKeys_.data(), partialSums_.data(), partialKeys_.size()};
    msm::Partials<Point> to{mergedKeys_.data(), mergedSums_.data(), mergedKeys_.size()};
    stream.launch("gather", shape(n, T::lanes, arrays), msm::gather<T>, plan.keys(), plan.entries(), uint32_t(plan.size()), length, bases,
                  buckets_.data(), buckets, from);
    for (n *= 2;; n = 2 * pieces(n, items)) {
      const Shape blocks{unsigned(pieces(n, items)), items * P::lanes, 0, unsigned(arrays)};
      stream.launch("merge", blocks, msm::merge<P>, from, uint32_t(n), buckets_.data(), buckets, to);
      if (n <= items) break;
      std::swap(from, to);
    }
  }

  void reduce(Stream &stream, int vectors, int arrays, Point *results, size_t stride) {
    const size_t sets = size_t(windows_.sets(vectors)) * arrays;
    const uint32_t length = sliceLength(device_, vectors, windows_, arrays);
    size_t count = windows_.buckets() / length;  // to a set
    msm::Weighted<Point> from{slices_.data(), slices_.data() + slices_.size() / 2};
    msm::Weighted<Point> to{folds_.data(), folds_.data() + folds_.size() / 2};
    stream.launch("slice", shape(count * sets, P::lanes), msm::slice<P>, static_cast<const Point *>(buckets_.data()), length, count * sets, from);
    int doublings = log2(length);
    while (count > 1) {
      const unsigned width = unsigned(std::min<size_t>(count, items));
      const Shape blocks{unsigned(count * sets / width), items * P::lanes};
      stream.launch("fold", blocks, msm::fold<P>, from, width, doublings, to);
      count /= width;
      doublings += log2(width);
      std::swap(from, to);
    }
    stream.launch("horner", shape(size_t(vectors) * arrays, P::lanes), msm::horner<P>, static_cast<const Point *>(from.extra), windows_.groups,
                  windows_.bits, uint32_t(vectors), uint32_t(arrays), results, stride);
    for (int a = 0; a < arrays; a++) device_.flip(PINION_FLIP_MSM, stream, results + a * stride, size_t(vectors) * sizeof(Point));
  }

  static int log2(size_t n) {
    int bits = 0;
    while (n >>= 1) bits++;
    return bits;
  }

  Device &device_;
  Windows windows_;
  int arrays_;
  Secret<Point> buckets_;
  Buffer<uint32_t> partialKeys_;
  Secret<Point> partialSums_;
  Buffer<uint32_t> mergedKeys_;
  Secret<Point> mergedSums_;
  Secret<Point> slices_, folds_;
};

}  // namespace pinion

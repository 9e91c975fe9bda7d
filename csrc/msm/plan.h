// The digits of scalars, sorted by the bucket that they go to.
#pragma once

#include "../device/sort.h"
#include "../field/field.h"
#include "windows.h"

namespace pinion {

// Entry is a point of a table to add to a bucket: its index in all the tables, one after the other, and its sign in the highest bit.
using Entry = uint32_t;
constexpr Entry negative = 1u << 31;

namespace msm {

PINION_HD unsigned bitCount(unsigned v) {
#ifdef __CUDA_ARCH__
  return __popc(v);
#else
  return unsigned(__builtin_popcount(v));
#endif
}

// Digits walks over the digits of an integer, from the lowest.
template <class S>
struct Digits {
  S scalar;
  int bits;
  int at = 0;
  int carry = 0;

  PINION_HD int next() {
    const int word = at / 32, shift = at % 32;
    uint64_t pair = word < S::words ? scalar.w[word] : 0;
    if (word + 1 < S::words) pair |= uint64_t(scalar.w[word + 1]) << 32;
    int d = int(uint32_t(pair >> shift) & ((1u << bits) - 1)) + carry;
    carry = d > (1 << (bits - 1));
    if (carry) d -= 1 << bits;
    at += bits;
    return d;
  }
};

// split writes the digits of vectors x n scalars that aren't zero, in no order, and how many there are. A warp takes 32 scalars and one
// place for all of their digits. Vectors are stride scalars apart, of which point i takes the one at subset[i], or at i if there is no
// subset.
template <class S>
PINION_KERNEL split(const S *scalars, size_t stride, const uint32_t *subset, bool montgomery, uint32_t n, uint32_t vectors,
                    Windows windows, uint32_t *keys, Entry *entries, unsigned *count) {
  const uint64_t total = uint64_t(n) * vectors;
  const unsigned lane = laneIndex();
  const unsigned below = (1u << lane) - 1;
  for (uint64_t first = globalThread() - lane; first < total; first += globalThreads()) {
    const uint64_t i = first + lane;
    const uint32_t vector = uint32_t(i / n), point = uint32_t(i % n);
    S scalar = i < total ? scalars[vector * stride + (subset ? subset[point] : point)] : S::zero();
    if (montgomery) scalar = scalar.toInteger();
    Digits<S> digits{scalar, windows.bits};
    unsigned here = 0;
    for (int w = 0; w < windows.count; w++) here += bitCount(ballot(digits.next() != 0));
    if (here == 0) continue;
    unsigned place = 0;
    if (lane == 0) place = atomicAdd(count, here);
    place = shuffle(place, 0);

    digits = Digits<S>{scalar, windows.bits};
    int table = 0, group = 0;
    for (int w = 0; w < windows.count; w++) {
      const int d = digits.next();
      const unsigned some = ballot(d != 0);
      if (d != 0) {
        const unsigned at = place + bitCount(some & below);
        keys[at] = (vector * windows.groups + group) * windows.buckets() + (d < 0 ? -d : d) - 1;
        entries[at] = (table * n + point) | (d < 0 ? negative : 0);
      }
      place += bitCount(some);
      if (++group == windows.groups) {
        group = 0;
        table++;
      }
    }
  }
}

}  // namespace msm

// Plan is made once for scalars and then serves every array of bases that they are multiplied with. One stream uses it at a time.
template <class S>
class Plan {
 public:
  // A plan for at most vectors scalars to each of n points: n * tables < 2^31, n * vectors * count < 2^31.
  Plan(Device &device, size_t n, int vectors, Windows windows)
      : n_(n),
        vectors_(vectors),
        windows_(windows),
        capacity_(n * vectors * windows.count),
        scratchBytes_(sortBytes(device, capacity_, keyBits(windows, vectors))),
        keys_(device, capacity_),
        sortedKeys_(device, capacity_),
        entries_(device, capacity_),
        sortedEntries_(device, capacity_),
        scratch_(device, scratchBytes_),
        counter_(device, 1),
        counted_(device, 1) {}

  // bytes is the device memory that a plan takes.
  static size_t bytes(Device &device, size_t n, int vectors, Windows windows) {
    const size_t capacity = n * vectors * windows.count;
    return 4 * capacity * sizeof(uint32_t) + sortBytes(device, capacity, keyBits(windows, vectors)) + sizeof(unsigned);
  }

  // make plans for scalars, vectors times n of them, vector after vector: integers less than the modulus, or elements in Montgomery form.
  // It waits for the stream, to learn how many digits aren't zero; the sort is enqueued.
  void make(Stream &stream, const S *scalars, bool montgomery, int vectors) { make(stream, scalars, n_, nullptr, montgomery, vectors); }

  // This make takes n of the stride scalars of each vector, point i the one at subset[i], which is on the device, or at i if there is no
  // subset: for bases that leave points at infinity out.
  void make(Stream &stream, const S *scalars, size_t stride, const uint32_t *subset, bool montgomery, int vectors) {
    stream.clear(counter_.data(), sizeof(unsigned));
    stream.launch("split", Shape{blocksFor(n_ * vectors, 256), 256}, msm::split<S>, scalars, stride, subset, montgomery,
                  uint32_t(n_), uint32_t(vectors),
                  windows_, keys_.data(), entries_.data(), counter_.data());
    stream.copyOut(counted_.data(), counter_.data(), sizeof(unsigned));
    stream.synchronize();
    size_ = counted_[0];
    used_ = vectors;
    sortPairs(stream, scratch_.data(), scratchBytes_, keys_.data(), sortedKeys_.data(), entries_.data(), sortedEntries_.data(), size_,
              keyBits(windows_, vectors));
  }

  const Windows &windows() const { return windows_; }
  size_t points() const { return n_; }
  // vectors is how many the scalars of the last make were.
  int vectors() const { return used_; }
  // size is how many entries there are, by bucket: set after set, vector after vector.
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  const uint32_t *keys() const { return sortedKeys_.data(); }
  const Entry *entries() const { return sortedEntries_.data(); }

 private:
  static int keyBits(const Windows &windows, int vectors) {
    int bits = 1;
    while (bits < 32 && (uint64_t(windows.sets(vectors)) * windows.buckets() - 1) >> bits) bits++;
    return bits;
  }

  size_t n_;
  int vectors_;
  Windows windows_;
  size_t capacity_;
  size_t scratchBytes_;
  Buffer<uint32_t> keys_, sortedKeys_;
  Buffer<Entry> entries_, sortedEntries_;
  Buffer<unsigned char> scratch_;
  Buffer<unsigned> counter_;
  Pinned<unsigned> counted_;
  size_t size_ = 0;
  int used_ = 0;
};

}  // namespace pinion

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

// split writes the digits of vectors x n scalars that aren't zero, of the groups of pass from first on, in no order, and how many there
// are. A warp takes 32 scalars and one place for all of their digits. Vectors are stride scalars apart, of which point i takes the one at
// subset[i], or at i if there is no subset.
template <class S>
PINION_KERNEL split(const S *scalars, size_t stride, const uint32_t *subset, bool montgomery, uint32_t n, uint32_t vectors,
                    Windows windows, Windows pass, int first, uint32_t *keys, Entry *entries, unsigned *count) {
  const uint64_t total = uint64_t(n) * vectors;
  const unsigned lane = laneIndex();
  const unsigned below = (1u << lane) - 1;
  for (uint64_t start = globalThread() - lane; start < total; start += globalThreads()) {
    const uint64_t i = start + lane;
    const uint32_t vector = uint32_t(i / n), point = uint32_t(i % n);
    S scalar = i < total ? scalars[vector * stride + (subset ? subset[point] : point)] : S::zero();
    if (montgomery) scalar = scalar.toInteger();
    Digits<S> digits{scalar, windows.bits};
    unsigned here = 0;
    for (int w = 0, group = 0; w < windows.count; w++) {
      const bool takes = unsigned(group - first) < unsigned(pass.groups);
      here += bitCount(ballot(digits.next() != 0 && takes));
      if (++group == windows.groups) group = 0;
    }
    if (here == 0) continue;
    unsigned place = 0;
    if (lane == 0) place = atomicAdd(count, here);
    place = shuffle(place, 0);

    digits = Digits<S>{scalar, windows.bits};
    int table = 0, group = 0;
    for (int w = 0; w < windows.count; w++) {
      const int d = digits.next();
      if (unsigned(group - first) < unsigned(pass.groups)) {
        const unsigned some = ballot(d != 0);
        if (d != 0) {
          const unsigned at = place + bitCount(some & below);
          keys[at] = (vector * pass.groups + group - first) * windows.buckets() + (d < 0 ? -d : d) - 1;
          entries[at] = (table * n + point) | (d < 0 ? negative : 0);
        }
        place += bitCount(some);
      }
      if (++group == windows.groups) {
        group = 0;
        table++;
      }
    }
  }
}

}  // namespace msm

// Subset is those of the places of a vector of scalars that bases have points for: indices, ascending, on the device. Without indices it
// is all.
struct Subset {
  const uint32_t *indices = nullptr;
  size_t count = 0;
};

// Plan is made once for scalars and then serves every array of bases that they are multiplied with. One stream uses it at a time.
template <class S>
class Plan {
 public:
  // mostEntries is how many a plan can have: an entry has 31 bits for its point.
  static constexpr size_t mostEntries = size_t(1) << 31;

  // Plans for vectors of n scalars.
  Plan(Device &device, size_t n, int vectors, Windows windows)
      : n_(n),
        vectors_(vectors),
        windows_(windows),
        pass_(windows.pass()),
        scratchBytes_(sortBytes(device, capacity(), keyBits(pass_, vectors))),
        memory_(device, 4 * capacity()),
        scratch_(device, scratchBytes_),
        counter_(device, 1),
        counted_(device, 1),
        split_(device) {}

  // bytes is the device memory that a plan takes.
  static size_t bytes(Device &device, size_t n, int vectors, Windows windows) {
    const size_t most = capacity(n, vectors, windows);
    return most * entryBytes + sortBytes(device, most, keyBits(windows.pass(), vectors)) + sizeof(unsigned);
  }

  // entryBytes is what an entry takes: a key and an entry, in two places.
  static constexpr size_t entryBytes = 4 * sizeof(uint32_t);
  // capacity is how many entries a pass has at most.
  static size_t capacity(size_t n, int vectors, const Windows &windows) { return n * vectors * windows.pass().count; }
  size_t capacity() const { return capacity(n_, vectors_, windows_); }

  // make plans one pass for scalars, vectors times n of them, vector after vector: integers less than the modulus, or elements in Montgomery
  // form. Of a subset it takes just those scalars. It waits for the stream, to learn how many digits aren't zero; the sort is enqueued.
  void make(Stream &stream, const S *scalars, bool montgomery, int vectors, int pass = 0, Subset subset = {}) {
    split(stream, scalars, montgomery, vectors, pass, subset);
    wait();
    sort(stream);
  }

  // split, wait and sort are make, in steps: other work may be enqueued before the wait.
  void split(Stream &stream, const S *scalars, bool montgomery, int vectors, int pass = 0, Subset subset = {}) {
    const size_t n = subset.indices ? subset.count : n_;
    const size_t most = capacity();
    pairs_ = {memory_.data(), memory_.data() + most, memory_.data() + 2 * most, memory_.data() + 3 * most};
    used_ = vectors;
    stream.clear(counter_.data(), sizeof(unsigned));
    if (n != 0) {
      stream.launch("split", Shape{blocksFor(n * vectors, 256), 256}, msm::split<S>, scalars, n_, subset.indices, montgomery, uint32_t(n),
                    uint32_t(vectors), windows_, pass_, pass * pass_.groups, pairs_.keys, pairs_.values, counter_.data());
    }
    stream.copyOut(counted_.data(), counter_.data(), sizeof(unsigned));
    stream.record(split_);
  }
  void wait() {
    split_.synchronize();
    size_ = counted_[0];
  }
  void sort(Stream &stream) { sortPairs(stream, scratch_.data(), scratchBytes_, pairs_, size_, keyBits(pass_, used_)); }

  // vectors is how many the scalars of the last make were.
  int vectors() const { return used_; }
  // size is how many entries there are, by bucket: set after set, vector after vector.
  size_t size() const { return size_; }
  const uint32_t *keys() const { return pairs_.keys; }
  const Entry *entries() const { return pairs_.values; }

 private:
  static int keyBits(const Windows &windows, int vectors) {
    int bits = 1;
    while (bits < 32 && (uint64_t(windows.sets(vectors)) * windows.buckets() - 1) >> bits) bits++;
    return bits;
  }

  size_t n_;
  int vectors_;
  Windows windows_, pass_;
  size_t scratchBytes_;
  Secret<uint32_t> memory_;
  Secret<unsigned char> scratch_;
  Buffer<unsigned> counter_;
  Pinned<unsigned> counted_;
  Event split_;
  Pairs pairs_{};
  size_t size_ = 0;
  int used_ = 0;
};

}  // namespace pinion

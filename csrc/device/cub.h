// Device-wide sort and sums: cub under nvcc, plain twins on the software device. Temporary memory is the caller's; the ...Bytes functions
// say how much, at most, n elements take.
#pragma once

#include "device.h"

#ifdef __CUDACC__
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#else
#include <algorithm>
#include <numeric>
#endif

namespace pinion {

#ifdef __CUDACC__

template <class K, class V>
size_t sortPairsBytes(Device &device, size_t n) {
  size_t bytes = 0;
  device.must(cub::DeviceRadixSort::SortPairs(nullptr, bytes, static_cast<const K *>(nullptr), static_cast<K *>(nullptr), static_cast<const V *>(nullptr), static_cast<V *>(nullptr), int64_t(n)), "size of a sort");
  return bytes;
}

// sortPairs sorts by the bits [low, high) of the keys, stably. Inputs stay as they are and don't overlap outputs.
template <class K, class V>
void sortPairs(Stream &stream, void *temporary, size_t bytes, const K *keys, K *sortedKeys, const V *values, V *sortedValues, size_t n, int low, int high) {
  stream.device().must(cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, sortedKeys, values, sortedValues, int64_t(n), low, high, stream.handle()), "sort");
}

template <class T>
size_t exclusiveSumBytes(Device &device, size_t n) {
  size_t bytes = 0;
  device.must(cub::DeviceScan::ExclusiveSum(nullptr, bytes, static_cast<const T *>(nullptr), static_cast<T *>(nullptr), int(n)), "size of a sum");
  return bytes;
}

// exclusiveSum sets out[i] to in[0] + ... + in[i-1]. in may be out. n is below 2^31.
template <class T>
void exclusiveSum(Stream &stream, void *temporary, size_t bytes, const T *in, T *out, size_t n) {
  stream.device().must(cub::DeviceScan::ExclusiveSum(temporary, bytes, in, out, int(n), stream.handle()), "sum");
}

#else

template <class K, class V>
size_t sortPairsBytes(Device &, size_t) { return 16; }

template <class K, class V>
void sortPairs(Stream &stream, void *, size_t, const K *keys, K *sortedKeys, const V *values, V *sortedValues, size_t n, int low, int high) {
  if (stream.device().due(PINION_FAIL_LAUNCH)) throw Failure(PINION_INTERNAL, "sort: refused");
  stream.call("sort", [=] {
    K mask = high - low >= int(8 * sizeof(K)) ? ~K(0) : ((K(1) << (high - low)) - 1);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [=](size_t i, size_t j) { return (keys[i] >> low & mask) < (keys[j] >> low & mask); });
    for (size_t i = 0; i < n; i++) {
      sortedKeys[i] = keys[order[i]];
      sortedValues[i] = values[order[i]];
    }
  });
}

template <class T>
size_t exclusiveSumBytes(Device &, size_t) { return 16; }

template <class T>
void exclusiveSum(Stream &stream, void *, size_t, const T *in, T *out, size_t n) {
  if (stream.device().due(PINION_FAIL_LAUNCH)) throw Failure(PINION_INTERNAL, "sum: refused");
  stream.call("sum", [=] {
    T sum = 0;
    for (size_t i = 0; i < n; i++) {
      T value = in[i];
      out[i] = sum;
      sum += value;
    }
  });
}

#endif

}  // namespace pinion

#include <cub/device/device_radix_sort.cuh>

#include "sort.h"

namespace pinion {

namespace {

cudaError_t sort(void *scratch, size_t &bytes, cub::DoubleBuffer<uint32_t> &keys, cub::DoubleBuffer<uint32_t> &values, size_t n, int bits, cudaStream_t stream) {
  return cub::DeviceRadixSort::SortPairs(scratch, bytes, keys, values, int64_t(n), 0, bits, stream);
}

}  // namespace

size_t sortBytes(Device &device, size_t n, int bits) {
  size_t bytes = 0;
  cub::DoubleBuffer<uint32_t> keys, values;
  device.must(sort(nullptr, bytes, keys, values, n, bits, nullptr), "size of a sort");
  return bytes;
}

void sortPairs(Stream &stream, void *scratch, size_t scratchBytes, Pairs &pairs, size_t n, int bits) {
  if (n == 0) return;
  cub::DoubleBuffer<uint32_t> keys(pairs.keys, pairs.otherKeys), values(pairs.values, pairs.otherValues);
  stream.device().must(sort(scratch, scratchBytes, keys, values, n, bits, stream.handle()), "sort");
  if (keys.Current() != pairs.keys) pairs.turn();
}

}  // namespace pinion

#include <cub/device/device_radix_sort.cuh>

#include "sort.h"

namespace pinion {

size_t sortBytes(Device &device, size_t n, int bits) {
  size_t bytes = 0;
  const uint32_t *in = nullptr;
  uint32_t *out = nullptr;
  device.must(cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, in, out, int64_t(n), 0, bits), "size of a sort");
  return bytes;
}

void sortPairs(Stream &stream, void *scratch, size_t scratchBytes, uint32_t *keys, uint32_t *sortedKeys, uint32_t *values,
               uint32_t *sortedValues, size_t n, int bits) {
  if (n == 0) return;
  const uint32_t *k = keys, *v = values;
  stream.device().must(cub::DeviceRadixSort::SortPairs(scratch, scratchBytes, k, sortedKeys, v, sortedValues, int64_t(n), 0, bits,
                                                       stream.handle()),
                       "sort");
}

}  // namespace pinion

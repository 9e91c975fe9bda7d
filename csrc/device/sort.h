// Sorting on the device: a radix sort, CUB's on a card.
#pragma once

#include <utility>

#include "device.h"

namespace pinion {

// Pairs are keys and values, each with as much room beside them as they take. Sorting goes to and fro between the two.
struct Pairs {
  uint32_t *keys, *otherKeys;
  uint32_t *values, *otherValues;

  void turn() {
    std::swap(keys, otherKeys);
    std::swap(values, otherValues);
  }
};

// sortBytes is how much scratch memory sortPairs takes for n pairs.
size_t sortBytes(Device &device, size_t n, int bits);

// sortPairs enqueues a stable sort of n pairs by the lowest bits of their keys. On return pairs say where they will be in order. scratch has
// sortBytes and may be written to until the sort is done.
void sortPairs(Stream &stream, void *scratch, size_t scratchBytes, Pairs &pairs, size_t n, int bits);

}  // namespace pinion

// Sorting on the device: a radix sort, CUB's on a card.
#pragma once

#include "device.h"

namespace pinion {

// sortBytes is how much scratch memory sortPairs takes for n pairs.
size_t sortBytes(Device &device, size_t n, int bits);

// sortPairs enqueues a stable sort of n pairs by the lowest bits of their keys, from keys and values to sortedKeys and sortedValues. The
// four arrays are distinct; those sorted from may be left changed. scratch has sortBytes and may be written to until the sort is done.
void sortPairs(Stream &stream, void *scratch, size_t scratchBytes, uint32_t *keys, uint32_t *sortedKeys, uint32_t *values,
               uint32_t *sortedValues, size_t n, int bits);

}  // namespace pinion

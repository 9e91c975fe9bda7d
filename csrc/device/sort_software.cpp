#include <algorithm>
#include <numeric>
#include <vector>

#include "sort.h"

namespace pinion {

size_t sortBytes(Device &, size_t, int) { return 16; }

void sortPairs(Stream &stream, void *, size_t, uint32_t *keys, uint32_t *sortedKeys, uint32_t *values, uint32_t *sortedValues, size_t n,
               int bits) {
  if (n == 0) return;
  stream.call("sort", [=] {
    const uint32_t mask = uint32_t((uint64_t(1) << bits) - 1);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [=](size_t a, size_t b) { return (keys[a] & mask) < (keys[b] & mask); });
    for (size_t i = 0; i < n; i++) {
      sortedKeys[i] = keys[order[i]];
      sortedValues[i] = values[order[i]];
    }
  });
}

}  // namespace pinion

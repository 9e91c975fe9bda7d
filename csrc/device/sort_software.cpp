#include <algorithm>
#include <numeric>
#include <vector>

#include "sort.h"

namespace pinion {

size_t sortBytes(Device &, size_t, int) { return 16; }

void sortPairs(Stream &stream, void *, size_t, Pairs &pairs, size_t n, int bits) {
  if (n == 0) return;
  stream.call("sort", [n, bits, from = pairs] {
    const uint32_t mask = uint32_t((uint64_t(1) << bits) - 1);
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t(0));
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return (from.keys[a] & mask) < (from.keys[b] & mask); });
    for (size_t i = 0; i < n; i++) {
      from.otherKeys[i] = from.keys[order[i]];
      from.otherValues[i] = from.values[order[i]];
    }
  });
  pairs.turn();
}

}  // namespace pinion

// How scalars are cut into digits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../field/primitives.h"

namespace pinion {

// Windows cuts a scalar into count signed digits of bits bits, each from -2^(bits-1) to 2^(bits-1). Where the bases are fixed, tables of
// their multiples let several windows share the buckets of one group: window t * groups + g is taken from table t, which holds the
// points 2^(bits * groups * t) P, and goes to group g.
struct Windows {
  int bits = 0;
  int count = 0;
  int tables = 1;
  int groups = 0;
  // A plan too large for its memory is made and summed up in several passes, each for an equal share of the groups.
  int passes = 1;

  // of has windows of bits bits for scalars of scalarBits bits, with as many tables as are allowed and of use.
  static Windows of(int bits, int scalarBits, int maxTables);
  // choose takes the width with which sums of n products, for vectors scalars to a point, cost least.
  static Windows choose(int scalarBits, size_t n, int vectors, int maxTables);

  // pass has the windows of one pass. The last one may have groups that there aren't.
  Windows pass() const;

  PINION_INLINE uint32_t buckets() const { return 1u << (bits - 1); }
  // sets is how many sets of buckets vectors scalars to a point take.
  uint32_t sets(int vectors) const { return uint32_t(groups) * uint32_t(vectors); }
};

}  // namespace pinion

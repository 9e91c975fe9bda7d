// Kernels of the number-theoretic transforms.
//
// The table of roots has a layer for each power of two h = 2^p: the powers 0 to h of the root of order 2h, at layer(p). The last one
// is -1: it makes the negated inverse of power i the power h - i, so that no table of inverses is needed.
#pragma once

#include "../device/device.h"
#include "../field/field.h"

namespace pinion {

PINION_HD unsigned layer(unsigned p) { return (1u << p) + p; }

constexpr unsigned maxLogDomain = 27;

// Squares has a root and its squares: element j is the root to the 2^j.
template <class F>
struct Squares {
  F power[maxLogDomain + 2];
};

// fillRoots writes the layers 0 to logN of the table: the squares are those of the root of order 2^(logN+1).
template <class F>
PINION_KERNEL fillRoots(F *roots, unsigned logN, Squares<F> squares) {
  const unsigned total = layer(logN) + (1u << logN) + 1;
  for (unsigned t = 1 + unsigned(globalThread()); t < total; t += unsigned(globalThreads())) {
    unsigned p = 0;
    while (p < logN && layer(p + 1) <= t) p++;
    const unsigned e = (t - layer(p)) << (logN - p);
    F x = F::one();
    for (unsigned j = 0; e >> j; j++) {
      if (e >> j & 1) x = x * squares.power[j];
    }
    roots[t] = x;
  }
}

// Turn is what a pass over a tile does.
enum class Turn {
  down,        // decimation in frequency with inverse roots: values in natural order become n times coefficients, bit-reversed
  downCoset,   // the same for values on the odd powers of the root of order 2n
  up,          // decimation in time: coefficients in bit-reversed order become values in natural order
  upCoset,     // the same on the odd powers
  downUpCoset  // down, and back up on the coset
};

// Tile is the part of a vector that a block works on: the 2^rowBits rows of elements whose indices differ in the bits from low on, in 2^columnBits
// adjacent columns. Its threads have 2^roundBits elements each, and do as many stages between exchanges through shared memory.
struct Tile {
  unsigned low, rowBits, columnBits, roundBits;
};

// Blocks are small, and a multiprocessor has several at once, so that some compute while others wait.
constexpr unsigned threadBits = 7, transformBlocks = 4;
// With eight elements a thread there are the fewest exchanges; threads have fewer where a multiprocessor wouldn't have enough threads.
constexpr unsigned mostRoundBits = 3, enoughThreads = 192;
constexpr unsigned mostTileBits = threadBits + mostRoundBits;

// Plane is a tile in shared memory. Elements are kept as two halves, a fixed distance apart, and turned about within eights, so that
// threads that read elements one or eight apart hit different banks.
template <class F>
struct Plane {
  struct alignas(16) Half {
    uint32_t w[F::words / 2];
  };
  static constexpr unsigned distance = 1u << mostTileBits;
  static constexpr unsigned bytes = 2 * distance * sizeof(Half);

  Half *halves;

  PINION_DEVICE Half *place(unsigned i) const { return halves + (i ^ (i >> 3 & 7)); }
  PINION_DEVICE F load(unsigned i) const {
    F x;
    const Half *at = place(i);
    const Half l = at[0], h = at[distance];
    PINION_UNROLL
    for (int j = 0; j < F::words / 2; j++) x.w[j] = l.w[j], x.w[F::words / 2 + j] = h.w[j];
    return x;
  }
  PINION_DEVICE void store(unsigned i, const F &x) const {
    Half l, h;
    PINION_UNROLL
    for (int j = 0; j < F::words / 2; j++) l.w[j] = x.w[j], h.w[j] = x.w[F::words / 2 + j];
    Half *at = place(i);
    at[0] = l;
    at[distance] = h;
  }
};

// Walk is the way of one block over its tile.
template <class F>
struct Walk {
  F *values;  // of the tile's first element
  const F *roots;
  Tile tile;
  unsigned column;  // the low bits of the first column's indices
  Plane<F> plane;

  // round does the stages of the row bits [j, j+M), from and to global memory where told so.
  template <unsigned M, bool rising, bool coset>
  PINION_DEVICE void round(unsigned j, bool fromGlobal, bool toGlobal) const {
    constexpr unsigned size = 1u << M;
    const unsigned groups = 1u << (tile.rowBits + tile.columnBits - M);
    for (unsigned g = threadIndex(); g < groups; g += threadCount()) {
      const unsigned q = g & ((1u << tile.columnBits) - 1), rest = g >> tile.columnBits;
      const unsigned rowLow = rest & ((1u << j) - 1);
      const unsigned row = (rest >> j) << (j + M) | rowLow;
      F x[size];
      PINION_UNROLL
      for (unsigned e = 0; e < size; e++) {
        const unsigned r = row + (e << j);
        x[e] = fromGlobal ? values[(r << tile.low) + q] : plane.load(r << tile.columnBits | q);
      }
      PINION_UNROLL
      for (unsigned turn = 0; turn < M; turn++) {
        const unsigned s = rising ? turn : M - 1 - turn;
        const unsigned p = tile.low + j + s;
        PINION_UNROLL
        for (unsigned e = 0; e < size; e++) {
          if (e >> s & 1) continue;
          const unsigned below = rowLow | (e & ((1u << s) - 1)) << j;
          const unsigned i = below << tile.low | (column + q);
          butterfly<rising, coset>(x[e], x[e | 1u << s], p, i);
        }
      }
      PINION_UNROLL
      for (unsigned e = 0; e < size; e++) {
        const unsigned r = row + (e << j);
        if (toGlobal) {
          values[(r << tile.low) + q] = x[e];
        } else {
          plane.store(r << tile.columnBits | q, x[e]);
        }
      }
    }
  }

  // butterfly combines two elements 2^p apart, the first of which is at i modulo 2^p.
  template <bool rising, bool coset>
  PINION_DEVICE void butterfly(F &l, F &u, unsigned p, unsigned i) const {
    if (rising) {
      const F w = coset ? roots[layer(p + 1) + 2 * i + 1] : roots[layer(p) + i], t = w * u;
      u = l - t;
      l = l + t;
    } else {
      const F w = coset ? roots[layer(p + 1) + (2u << p) - 2 * i - 1] : roots[layer(p) + (1u << p) - i];
      const F t = u.looseDifference(l);
      l = l + u;
      u = w * t;
    }
  }

  template <bool rising, bool coset>
  PINION_DEVICE void rounds(bool fromGlobal, bool toGlobal) const {
    const unsigned k = tile.rowBits;
    for (unsigned done = 0; done < k;) {
      const unsigned m = k - done < tile.roundBits ? k - done : tile.roundBits;
      const unsigned j = rising ? done : k - done - m;
      const bool first = done == 0 && fromGlobal, last = done + m == k && toGlobal;
      if (done) barrier();
      if (m == 3) {
        round<3, rising, coset>(j, first, last);
      } else if (m == 2) {
        round<2, rising, coset>(j, first, last);
      } else {
        round<1, rising, coset>(j, first, last);
      }
      done += m;
    }
  }
};

// transform does the stages of a tile's row bits, in place, for vectors of 2^logN elements one after the other: blockIndexY says which.
template <class F, Turn turn>
PINION_KERNEL_BOUNDS(1 << threadBits, transformBlocks) transform(F *values, const F *roots, unsigned logN, Tile tile) {
  const unsigned t = blockIndex();
  const unsigned column = (t & ((1u << (tile.low - tile.columnBits)) - 1)) << tile.columnBits;
  const unsigned base = (t >> (tile.low - tile.columnBits)) << (tile.low + tile.rowBits) | column;
  const Walk<F> walk{values + (size_t(blockIndexY()) << logN) + base, roots, tile, column,
                     Plane<F>{dynamicShared<typename Plane<F>::Half>()}};
  if (turn == Turn::down) walk.template rounds<false, false>(true, true);
  if (turn == Turn::downCoset) walk.template rounds<false, true>(true, true);
  if (turn == Turn::up) walk.template rounds<true, false>(true, true);
  if (turn == Turn::upCoset) walk.template rounds<true, true>(true, true);
  if (turn == Turn::downUpCoset) {
    walk.template rounds<false, false>(true, false);
    barrier();
    walk.template rounds<true, true>(false, true);
  }
}

}  // namespace pinion

// Transforms over the powers of a root of unity, 5^((r-1)/n), of up to 2^27 elements.
#pragma once

#include "kernels.h"

namespace pinion {

// Domain has the roots of unity for vectors of n = 2^logN elements. Transforms are in place and enqueue kernels only: the inverse leaves
// coefficients in bit-reversed order, which is the order that the others start from, so that nothing is ever permuted. No transform
// scales: down leaves n times the coefficients, which users make up for in factors that they multiply by anyhow.
template <class F>
class Domain {
 public:
  // bytes is the device memory of a domain.
  static size_t bytes(unsigned logN) { return elements(logN) * sizeof(F); }

  Domain(Device &device, Stream &stream, unsigned logN) : logN_(logN), roots_(device, elements(logN)) {
    Squares<F> squares;
    for (unsigned i = 0; i < F::words; i++) squares.power[0].w[i] = F::Params::root(int(i));
    for (unsigned i = logN + 1; i < F::Params::twoAdicity; i++) squares.power[0] = squares.power[0].squared();
    for (unsigned j = 1; j < maxLogDomain + 2; j++) squares.power[j] = squares.power[j - 1].squared();
    stream.launch("fillRoots", Shape{blocksFor(elements(logN), 256, 1 << 16), 256}, fillRoots<F>, roots_.data(), logN, squares);
  }

  size_t size() const { return size_t(1) << logN_; }

  // toCoefficients: values in natural order to n times coefficients in bit-reversed order.
  void toCoefficients(Stream &stream, F *vectors, unsigned count) const {
    falling<Turn::down>(stream, vectors, count);
    pass<Turn::down>(stream, vectors, count, last());
  }
  // fromCoset: the same for values on the coset.
  void fromCoset(Stream &stream, F *vectors, unsigned count) const {
    falling<Turn::downCoset>(stream, vectors, count);
    pass<Turn::downCoset>(stream, vectors, count, last());
  }
  // toValues: coefficients in bit-reversed order to values in natural order, on the domain.
  void toValues(Stream &stream, F *vectors, unsigned count) const {
    pass<Turn::up>(stream, vectors, count, last());
    rising<Turn::up>(stream, vectors, count);
  }
  // toCosetValues: the same, value i at w^(2i+1) for the root w of order 2n.
  void toCosetValues(Stream &stream, F *vectors, unsigned count) const {
    pass<Turn::upCoset>(stream, vectors, count, last());
    rising<Turn::upCoset>(stream, vectors, count);
  }
  // toCoset: values on the domain to n times the values on the coset, both in natural order.
  void toCoset(Stream &stream, F *vectors, unsigned count) const {
    falling<Turn::down>(stream, vectors, count);
    pass<Turn::downUpCoset>(stream, vectors, count, last());
    rising<Turn::upCoset>(stream, vectors, count);
  }

 private:
  static size_t elements(unsigned logN) { return layer(logN) + (size_t(1) << logN) + 1; }

  // last is the tile of the pass over the lowest bits, contiguous in memory.
  Tile last() const { return Tile{0, logN_ < tileBits ? logN_ : tileBits, 0}; }
  // strided passes, from 0 on for the lowest bits, share the other bits evenly.
  unsigned strided() const { return logN_ <= tileBits ? 0 : (logN_ - tileBits + tileBits - columnBits - 1) / (tileBits - columnBits); }
  Tile stridedTile(unsigned i) const {
    const unsigned bits = logN_ - tileBits, passes = strided();
    const unsigned from = bits * i / passes, to = bits * (i + 1) / passes;
    return Tile{tileBits + from, to - from, columnBits};
  }

  template <Turn turn>
  void falling(Stream &stream, F *vectors, unsigned count) const {
    for (unsigned i = strided(); i > 0; i--) pass<turn>(stream, vectors, count, stridedTile(i - 1));
  }
  template <Turn turn>
  void rising(Stream &stream, F *vectors, unsigned count) const {
    for (unsigned i = 0; i < strided(); i++) pass<turn>(stream, vectors, count, stridedTile(i));
  }

  template <Turn turn>
  void pass(Stream &stream, F *vectors, unsigned count, Tile tile) const {
    const unsigned bits = tile.rowBits + tile.columnBits;
    unsigned threads = bits > registerBits ? 1u << (bits - registerBits) : 1;
    if (threads < 32) threads = 32;
    const Shape shape{1u << (logN_ - bits), threads, sizeof(F) << bits, count};
    stream.launch("transform", shape, transform<F, turn>, vectors, static_cast<const F *>(roots_.data()), logN_, tile);
  }

  unsigned logN_;
  Buffer<F> roots_;
};

}  // namespace pinion

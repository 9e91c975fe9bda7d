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

  Domain(Device &device, Stream &stream, unsigned logN)
      : logN_(logN), processors_(device.processors()), roots_(device, elements(logN)) {
    Squares<F> squares;
    for (unsigned i = 0; i < F::words; i++) squares.power[0].w[i] = F::Params::root(int(i));
    for (unsigned i = logN + 1; i < F::Params::twoAdicity; i++) squares.power[0] = squares.power[0].squared();
    for (unsigned j = 1; j < maxLogDomain + 2; j++) squares.power[j] = squares.power[j - 1].squared();
    stream.launch("fillRoots", Shape{blocksFor(elements(logN), 256, 1 << 16), 256}, fillRoots<F>, roots_.data(), logN, squares);
  }

  size_t size() const { return size_t(1) << logN_; }

  // toCoefficients: values in natural order to n times coefficients in bit-reversed order.
  void toCoefficients(Stream &stream, F *vectors, unsigned count) const { falling<Turn::down, Turn::down>(stream, vectors, count); }
  // fromCoset: the same for values on the coset.
  void fromCoset(Stream &stream, F *vectors, unsigned count) const { falling<Turn::downCoset, Turn::downCoset>(stream, vectors, count); }
  // toValues: coefficients in bit-reversed order to values in natural order, on the domain.
  void toValues(Stream &stream, F *vectors, unsigned count) const { rising<Turn::up>(stream, vectors, count, 0); }
  // toCosetValues: the same, value i at w^(2i+1) for the root w of order 2n.
  void toCosetValues(Stream &stream, F *vectors, unsigned count) const { rising<Turn::upCoset>(stream, vectors, count, 0); }
  // toCoset: values on the domain to n times the values on the coset, both in natural order.
  void toCoset(Stream &stream, F *vectors, unsigned count) const {
    falling<Turn::down, Turn::downUpCoset>(stream, vectors, count);
    rising<Turn::upCoset>(stream, vectors, count, 1);
  }

 private:
  static size_t elements(unsigned logN) { return layer(logN) + (size_t(1) << logN) + 1; }

  // Passes are the tiles of count vectors, of the lowest bits first: those are contiguous in memory and as many as fit; the other passes share the
  // rest evenly, in tiles as wide as fit.
  struct Passes {
    unsigned logN, roundBits, tileBits, number;

    Passes(unsigned logN, size_t elements, unsigned processors) : logN(logN), roundBits(mostRoundBits) {
      while (roundBits > 1 && elements >> roundBits < processors * enoughThreads) roundBits--;
      tileBits = threadBits + roundBits;
      number = (logN + tileBits - 1) / tileBits;
    }
    Tile operator[](unsigned i) const {
      if (i == 0) return Tile{0, logN < tileBits ? logN : tileBits, 0, roundBits};
      const unsigned rest = logN - tileBits, from = rest * (i - 1) / (number - 1), to = rest * i / (number - 1);
      return Tile{tileBits + from, to - from, tileBits - (to - from), roundBits};
    }
  };
  Passes passes(unsigned count) const { return Passes(logN_, size() * count, processors_); }

  // falling goes down to the lowest bits, rising goes up from pass first on.
  template <Turn turn, Turn lowest>
  void falling(Stream &stream, F *vectors, unsigned count) const {
    const Passes tiles = passes(count);
    for (unsigned i = tiles.number - 1; i > 0; i--) pass<turn>(stream, vectors, count, tiles[i]);
    pass<lowest>(stream, vectors, count, tiles[0]);
  }
  template <Turn turn>
  void rising(Stream &stream, F *vectors, unsigned count, unsigned first) const {
    const Passes tiles = passes(count);
    for (unsigned i = first; i < tiles.number; i++) pass<turn>(stream, vectors, count, tiles[i]);
  }

  template <Turn turn>
  void pass(Stream &stream, F *vectors, unsigned count, Tile tile) const {
    const unsigned bits = tile.rowBits + tile.columnBits;
    unsigned threads = bits > tile.roundBits ? 1u << (bits - tile.roundBits) : 1;
    if (threads < 32) threads = 32;
    const Shape shape{1u << (logN_ - bits), threads, Plane<F>::bytes, count};
    stream.launch("transform", shape, transform<F, turn>, vectors, static_cast<const F *>(roots_.data()), logN_, tile);
  }

  unsigned logN_, processors_;
  Buffer<F> roots_;
};

}  // namespace pinion

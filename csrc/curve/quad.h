// Points with a coordinate to each of four lanes, or pairs of lanes.
#pragma once

#include "../device/device.h"
#include "point.h"

namespace pinion {

// Where a sum is a chain of few additions, which the card has the threads for but must wait for, a Quad adds in the time of four products
// rather than fourteen, doubles in that of three rather than nine, and takes a thread the registers of one coordinate. It is the point
// that memory holds as an Xyzz, by the same formulas. All 32 lanes of a warp do the same operations together, as with Pair. Alone has the
// same operations with a point in one thread.
template <class T>
struct Alone {
  static constexpr unsigned lanes = 1;
  using Memory = Xyzz<T>;

  Xyzz<T> point;

  PINION_DEVICE static Alone infinity() { return {Memory::infinity()}; }
  PINION_DEVICE static Alone load(const Memory &m) { return {m}; }
  PINION_DEVICE void store(Memory &m) const { m = point; }
  PINION_DEVICE void add(const Alone &o) { point.add(o.point); }
  PINION_DEVICE void twice() { point.twice(); }
};

template <class T>
struct Quad {
  static constexpr unsigned lanes = 4 * T::lanes;
  using Memory = Xyzz<typename T::Memory>;

  T own;  // x, y, zz or zzz, by place

  PINION_DEVICE static Quad infinity() { return {T::zero()}; }
  PINION_DEVICE static Quad load(const Memory &m) { return {T::load(reinterpret_cast<const typename T::Memory *>(&m)[place()])}; }
  PINION_DEVICE void store(Memory &m) const { own.store(reinterpret_cast<typename T::Memory *>(&m)[place()]); }

  // The comments say what the four places have.
  PINION_DEVICE void add(const Quad &o) {
    const unsigned at = place();
    const bool keep = o.isInfinity(), take = isInfinity();
    const T cross = product(own, across(o.own, 2));                                           // u, s, u', s'
    const T apart = across(cross, 2) - cross;                                                 // d, r
    const T square = product(choose(at < 2, apart, own), choose(at < 2, apart, o.own));       // d^2, r^2, zz zz', zzz zzz'
    const bool equal = hasZeros(apart.isZero(), 3) & !keep & !take;
    const T d = from(apart, 0), dd = from(square, 0);
    const T cube = product(choose(at == 0, cross, choose(at == 2, square, d)), dd);           // u d^2, d^3, the new zz, d^3
    const T beside = across(cube, 1);                                                         // d^3, u d^2
    const T x = square - cube - beside.doubled();                                             // in place 1: the new x
    const T last = product(choose(at == 0, across(cross, 1), choose(at == 1, apart, square)),
                           choose(at == 0, beside, choose(at == 1, beside - x, cube)));       // s d^3, r (u d^2 - x), -, the new zzz
    T sum = choose(at == 0, across(x, 1), choose(at == 1, last - across(last, 1), choose(at == 2, cube, last)));
    if (ballot(equal) != 0) {
      Quad same = *this;
      same.twice();
      sum = choose(equal, same.own, sum);
    }
    own = choose(take, o.own, choose(keep, own, sum));
  }

  PINION_DEVICE void twice() {
    const unsigned at = place();
    const T u = choose(at == 1, own.doubled(), own);                                          // x, 2 y
    const T square = product(u, u);                                                           // x^2, v
    const T m = square.doubled() + square;
    const T v = from(square, 1), x = from(own, 0);
    const T second = product(choose(at == 0, m, choose(at == 3, x, u)), choose(at == 0, m, v));  // m^2, w, the new zz, s
    const T s = from(second, 3), w = from(second, 1);
    const T newX = second - s.doubled();                                                      // in place 0
    const T last = product(choose(at == 0, s - newX, w), choose(at == 0, m, own));            // m (s - x), w y, -, the new zzz
    own = choose(at == 0, newX, choose(at == 1, across(last, 1) - last, choose(at == 2, second, last)));
  }

 private:
  // product is called, so that a kernel has its code once: where few warps run, they wait for code that isn't in the cache.
  PINION_CALL static T product(T a, T b) { return a * b; }
  PINION_DEVICE static unsigned place() { return laneIndex() / T::lanes & 3; }

  // hasZeros is whether all those places of the mask vote for it.
  PINION_DEVICE static bool hasZeros(bool zero, unsigned mask) {
    const unsigned votes = ballot(zero) >> (laneIndex() & ~(lanes - 1));
    unsigned wanted = 0;
    for (unsigned i = 0; i < 4; i++) wanted |= (mask >> i & 1) << (i * T::lanes);
    return (votes & wanted) == wanted;
  }
  PINION_DEVICE bool isInfinity() const { return hasZeros(own.isZero(), 4); }

  // across is the element of the place that differs by the bits of by, from the one of a place.
  PINION_DEVICE static T across(const T &v, unsigned by) {
    return moved(v, [=](auto w) { return shuffleXor(w, by * T::lanes); });
  }
  PINION_DEVICE static T from(const T &v, unsigned at) {
    const unsigned lane = (laneIndex() & ~(lanes - 1)) | at * T::lanes | (laneIndex() & (T::lanes - 1));
    return moved(v, [=](auto w) { return shuffle(w, lane); });
  }

  template <class Move>
  PINION_DEVICE static T moved(const T &v, Move move) {
#ifdef __CUDA_ARCH__
    T r;
    const uint32_t *words = reinterpret_cast<const uint32_t *>(&v);
    PINION_UNROLL
    for (unsigned i = 0; i < sizeof(T) / 4; i++) reinterpret_cast<uint32_t *>(&r)[i] = move(words[i]);
    return r;
#else
    return move(v);                                                                           // the software device moves any value
#endif
  }

  PINION_DEVICE static T choose(bool first, const T &a, const T &b) {
#ifdef __CUDA_ARCH__
    T r;
    PINION_UNROLL
    for (unsigned i = 0; i < sizeof(T) / 4; i++) {
      reinterpret_cast<uint32_t *>(&r)[i] = first ? reinterpret_cast<const uint32_t *>(&a)[i] : reinterpret_cast<const uint32_t *>(&b)[i];
    }
    return r;
#else
    return first ? a : b;
#endif
  }
};

}  // namespace pinion

// Multiples of the generator of a group, many of them.
#pragma once

#include "../curve/point.h"
#include "../device/device.h"
#include "../msm/windows.h"

namespace pinion {

// Multiples has a table of the points d 2^(bits w) G for each window w of a scalar and each digit d of it, so that a multiple is an
// addition to a window. Sums come out in coordinates of their own denominators, which are inverted many at a time (Montgomery's trick).
// F is of the coordinates. One stream uses it at a time.
template <class F, class S>
class Multiples {
 public:
  // most is how many scalars a run takes.
  static constexpr size_t most = size_t(1) << 17;

  // Multiples for n scalars in all makes a table that is worth its while.
  Multiples(Device &device, Stream &stream, size_t n);

  // run enqueues the multiples of G by n scalars in host memory, which is read until the stream has done so, to device memory.
  void run(Stream &stream, const void *scalars, size_t n, Affine<F> *points);
  // check waits, and throws PINION_INVALID if a scalar of a run wasn't below the order of the group.
  void check(Stream &stream);

 private:
  static Windows choose(size_t n);

  Windows windows_;
  Buffer<Affine<F>> table_;
  Secret<S> scalars_;
  Buffer<Xyzz<F>> sums_;
  Buffer<unsigned> wrong_;
};

// multiplesOf does n of them from host memory to host memory, and waits.
template <class F, class S>
void multiplesOf(Device &device, const void *scalars, size_t n, void *points);

#define PINION_MULTIPLES(how, C, G)                                        \
  how template class Multiples<C::G, C::Scalar>;                           \
  how template void multiplesOf<C::G, C::Scalar>(Device &, const void *, size_t, void *);

PINION_MULTIPLES(extern, Bn254, G1)
PINION_MULTIPLES(extern, Bn254, G2)
PINION_MULTIPLES(extern, Bls12381, G1)
PINION_MULTIPLES(extern, Bls12381, G2)

}  // namespace pinion

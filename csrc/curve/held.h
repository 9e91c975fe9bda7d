// How a kernel's threads hold what memory holds.
#pragma once

#include "quad.h"

namespace pinion {

// Held is how threads hold a coordinate that memory holds as an F, and where they are many, a point: elements of an extension field take
// a pair of lanes on a card, points four of what a coordinate takes. On the software device, where moving from lane to lane is slow, a
// thread holds all of it.
template <class F>
struct Held {
  using Type = F;
#ifdef __CUDACC__
  using Point = Quad<F>;
#else
  using Point = Alone<F>;
#endif
};

}  // namespace pinion

#ifdef __CUDACC__
#include "pair.h"
namespace pinion {
template <class B>
struct Held<Fp2<B>> {
  using Type = Pair<B>;
  using Point = Quad<Pair<B>>;
};
}  // namespace pinion
#endif

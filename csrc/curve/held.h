// How a kernel's threads hold what memory holds.
#pragma once

#include "quad.h"

namespace pinion {

// Held is how threads hold a coordinate that memory holds as an F, and where they are many, a point: elements of an extension field take
// a pair of lanes on a card, points four of what a coordinate takes. On the software device, where moving from lane to lane is slow, a
// thread holds all of it, unless a test wants it as on a card.
template <class F>
struct Held {
  using Type = F;
#if defined(__CUDACC__) || defined(PINION_LANES)
  using Point = Quad<F>;
#else
  using Point = Alone<F>;
#endif
};

}  // namespace pinion

#if defined(__CUDACC__) || defined(PINION_LANES)
#include "pair.h"
namespace pinion {
template <class B>
struct Held<Fp2<B>> {
  using Type = Pair<B>;
  using Point = Quad<Pair<B>>;
};
}  // namespace pinion
#endif

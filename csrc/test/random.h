// Random elements for tests, the same in every run.
#pragma once

#include <random>

#include "../field/field.h"

inline std::mt19937 &generator() {
  static std::mt19937 one(20261201);
  return one;
}

// randomElement is uniform enough: it is below r, and has all bits.
template <class F>
F randomElement() {
  F x;
  do {
    for (int i = 0; i < F::words; i++) x.w[i] = uint32_t(generator()());
    x.w[F::words - 1] &= (1u << (F::Params::bits - 32 * (F::words - 1))) - 1;
  } while (!x.inRange());
  return x;
}

// Sums of products against doubling and adding on the host, on whatever device this is compiled for.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "../msm/msm.h"
#include "../msm/tables.h"
#include "../setup/generators.h"

using namespace pinion;

namespace {

std::mt19937_64 random64(20261201);

template <class S>
S randomInteger() {
  S s;
  do {
    for (auto &w : s.w) w = uint32_t(random64());
    s.w[S::words - 1] &= 0x7fffffffu;
  } while (!s.inRange());
  return s;
}

// times is n P, bit by bit.
template <class F, class S>
Xyzz<F> times(const Affine<F> &p, const S &n) {
  Xyzz<F> r = Xyzz<F>::infinity();
  for (int i = S::words * 32 - 1; i >= 0; i--) {
    r.twice();
    if (n.w[i / 32] >> (i % 32) & 1) r.add(p);
  }
  return r;
}

struct Case {
  const char *name;
  size_t n;
  int vectors;
  int bits;
  int tables;
};

enum Kind { mixed, zeros, ones, equal, sparse, largest };

const char *const kinds[] = {"mixed", "zeros", "ones", "equal", "sparse", "largest"};

template <class F, class S>
void check(const char *group, Device &device, const Case &c, Kind kind, bool montgomery) {
  const Affine<F> g = generator<F>();
  std::vector<Affine<F>> points(c.n);
  Xyzz<F> next = Xyzz<F>::from(g);
  for (size_t i = 0; i < c.n; i++) {
    // distinct points, points at infinity, one and its opposite again and again
    points[i] = i % 7 == 3 ? Affine<F>::infinity() : i % 5 == 1 ? g : i % 5 == 2 ? -g : next.toAffine();
    next.add(g);
    next.twice();
  }
  S minusOne = S::modulus();
  minusOne.w[0]--;
  S unit = S::zero();
  unit.w[0] = 1;
  const S same = randomInteger<S>();
  std::vector<S> scalars(c.n * c.vectors);
  for (size_t i = 0; i < scalars.size(); i++) {
    switch (kind) {
      case mixed: scalars[i] = i % 11 == 0 ? minusOne : i % 11 == 1 ? unit : i % 11 == 2 ? S::zero() : randomInteger<S>(); break;
      case zeros: scalars[i] = S::zero(); break;
      case ones: scalars[i] = unit; break;
      case equal: scalars[i] = same; break;
      case sparse: scalars[i] = random64() % 8 == 0 ? randomInteger<S>() : random64() % 2 ? unit : S::zero(); break;
      case largest: scalars[i] = minusOne; break;
    }
  }
  std::vector<Affine<F>> expected;
  for (int v = 0; v < c.vectors; v++) {
    Xyzz<F> sum = Xyzz<F>::infinity();
    for (size_t i = 0; i < c.n; i++) sum.add(times(points[i], scalars[v * c.n + i]));
    expected.push_back(sum.toAffine());
  }
  if (montgomery) {
    for (auto &s : scalars) s = S::fromInteger(s);
  }

  Stream stream(device);
  const Windows windows = c.bits ? Windows::of(c.bits, S::Params::bits, c.tables)
                                 : Windows::choose(S::Params::bits, c.n, c.vectors, c.tables);
  Buffer<Affine<F>> tables(device, c.n * windows.tables);
  Buffer<S> input(device, scalars.size());
  Buffer<Xyzz<F>> results(device, c.vectors);
  Plan<S> plan(device, c.n, c.vectors, windows);
  Sums<F> sums(device, plan.capacity(), c.vectors, windows);
  if (c.n != 0) {
    stream.copyIn(tables.data(), points.data(), c.n * sizeof(points[0]));
    stream.copyIn(input.data(), scalars.data(), scalars.size() * sizeof(S));
  }
  fillTables(stream, tables.data(), c.n, windows);
  plan.make(stream, input.data(), montgomery, c.vectors);
  std::vector<Xyzz<F>> got(c.vectors);
  for (int again = 0; again < 2; again++) {
    sums.run(stream, plan, tables.data(), results.data());
    stream.copyOut(got.data(), results.data(), got.size() * sizeof(got[0]));
    stream.synchronize();
    for (int v = 0; v < c.vectors; v++) {
      if (got[v].toAffine() != expected[v]) {
        CHECK(false, "%s, %s, %s: sum of vector %d of %d, n %zu, windows %d x %d bits, %d tables", group, c.name, kinds[kind], v,
              c.vectors, c.n, windows.count, windows.bits, windows.tables);
        return;
      }
    }
  }
}

template <class F, class S>
void group(const char *name, Device &device) {
  const Case cases[] = {
      {"empty", 0, 1, 4, 1},          {"one", 1, 1, 5, 1},           {"odd size", 77, 1, 8, 3},
      {"all tables", 50, 1, 7, 100},  {"some tables", 50, 2, 5, 3},  {"seven vectors", 20, 7, 4, 100},
      {"chosen width", 130, 1, 0, 100}, {"narrowest", 33, 1, 2, 100},
  };
  for (const Case &c : cases) {
    for (Kind kind : {mixed, zeros, ones, equal, sparse, largest}) {
      if (kind != mixed && c.n != 77) continue;
      check<F, S>(name, device, c, kind, kind == equal);
    }
  }
  check<F, S>(name, device, {"hot bucket", 700, 1, 12, 100}, ones, false);
}

}  // namespace

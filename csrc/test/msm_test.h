// Sums of products, on whatever device this is compiled for.
#pragma once

#include "../msm/msm.h"
#include "../msm/tables.h"
#include "check.h"
#include "vectors.h"

using namespace pinion;

namespace {

// sumsOf makes the sums of one case twice with the same memory: vectors of scalars for the first n of the points.
template <class F, class S>
void sumsOf(const std::string &name, Device &device, const std::vector<Affine<F>> &points) {
  const auto shape = Vectors::get<uint32_t>(name + " shape");
  const size_t n = shape[0];
  const int vectors = int(shape[1]), bits = int(shape[2]), maxTables = int(shape[3]);
  const auto scalars = Vectors::get<S>(name + " scalars");
  const auto expected = Vectors::get<Affine<F>>(name);
  Stream stream(device);
  const Windows windows = bits ? Windows::of(bits, S::Params::bits, maxTables) : Windows::choose(S::Params::bits, n, vectors, maxTables);
  Buffer<Affine<F>> tables(device, n * windows.tables);
  Buffer<S> input(device, scalars.size());
  Buffer<Xyzz<F>> results(device, vectors);
  Plan<S> plan(device, n, vectors, windows);
  Sums<F> sums(device, plan.capacity(), vectors, windows);
  if (n != 0) {
    stream.copyIn(tables.data(), points.data(), n * sizeof(points[0]));
    stream.copyIn(input.data(), scalars.data(), input.bytes());
  }
  fillTables(stream, tables.data(), n, windows);
  plan.make(stream, input.data(), shape[4] != 0, vectors);
  std::vector<Xyzz<F>> got(vectors);
  for (int again = 0; again < 2; again++) {
    sums.run(stream, plan, tables.data(), results.data());
    stream.copyOut(got.data(), results.data(), results.bytes());
    stream.synchronize();
    for (int v = 0; v < vectors; v++) {
      CHECK(got[v].toAffine() == expected[v], "%s: vector %d of %d, n %zu, %d windows of %d bits, %d tables", name.c_str(), v, vectors, n,
            windows.count, windows.bits, windows.tables);
    }
  }
}

// arraysOf makes the sums of one case for three arrays of bases, all at once and then two: the points, their opposites, and none.
template <class F, class S>
void arraysOf(const std::string &name, Device &device, std::vector<Affine<F>> points) {
  const auto shape = Vectors::get<uint32_t>(name + " shape");
  const size_t n = shape[0], stride = shape[1] + 2;
  const int vectors = int(shape[1]);
  const auto scalars = Vectors::get<S>(name + " scalars");
  const auto expected = Vectors::get<Affine<F>>(name);
  Stream stream(device);
  const Windows windows = Windows::of(int(shape[2]), S::Params::bits, int(shape[3]));
  std::vector<Buffer<Affine<F>>> tables;
  msm::Bases<F> bases;
  for (int a = 0; a < msm::abreast; a++) {
    tables.emplace_back(device, n * windows.tables);
    bases.tables[a] = tables[a].data();
    stream.copyIn(tables[a].data(), points.data(), n * sizeof(points[0]));
    fillTables(stream, tables[a].data(), n, windows);
    stream.synchronize();
    for (Affine<F> &p : points) p = a == 0 ? -p : Affine<F>::infinity();
  }
  Buffer<S> input(device, scalars.size());
  stream.copyIn(input.data(), scalars.data(), input.bytes());
  Plan<S> plan(device, n, vectors, windows);
  plan.make(stream, input.data(), shape[4] != 0, vectors);
  const int64_t before = device.used();
  Sums<F> sums(device, plan.capacity(), vectors, windows, msm::abreast);
  CHECK(device.used() - before == int64_t(Sums<F>::bytes(device, plan.capacity(), vectors, windows, msm::abreast)), "%s: bytes", name.c_str());
  Buffer<Xyzz<F>> results(device, msm::abreast * stride);
  std::vector<Xyzz<F>> got(results.size());
  for (int arrays : {msm::abreast, 2}) {
    stream.clear(results.data(), results.bytes());
    sums.run(stream, plan, bases, arrays, results.data(), stride);
    stream.copyOut(got.data(), results.data(), results.bytes());
    stream.synchronize();
    for (int v = 0; v < vectors; v++) {
      CHECK(got[v].toAffine() == expected[v], "%s: vector %d of the first of %d arrays", name.c_str(), v, arrays);
      CHECK(got[stride + v].toAffine() == -expected[v], "%s: vector %d of the second of %d arrays", name.c_str(), v, arrays);
      CHECK(got[2 * stride + v].isInfinity(), "%s: vector %d of the third of %d arrays", name.c_str(), v, arrays);
    }
  }
}

// group makes all sums that there are vectors of.
template <class F, class S>
void group(const std::string &name, Device &device) {
  const auto points = Vectors::get<Affine<F>>(name + " points");
  std::string names;
  for (char c : Vectors::get<char>(name + " cases")) {
    if (c) {
      names += c;
      continue;
    }
    sumsOf<F, S>(name + " " + names, device, points);
    names.clear();
  }
  arraysOf<F, S>(name + " seven vectors", device, points);
}

}  // namespace

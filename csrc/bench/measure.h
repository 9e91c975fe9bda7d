// Measurements on one curve, of the classes that its prover is made of.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "../msm/msm.h"
#include "../msm/tables.h"
#include "../prover/quotient.h"
#include "../setup/multiples.h"
#include "additions.h"
#include "bench.h"
#include "scalars.h"

namespace pinion {

template <class C>
class Measurement {
  using S = typename C::Scalar;

 public:
  Measurement(Device &device, const pinion_bench_case &what, pinion_bench_result &result) : device_(device), stream_(device), what_(what), result_(result) {}

  void make() {
    switch (what_.kind) {
      case PINION_BENCH_MULTIPLICATIONS: return multiplications();
      case PINION_BENCH_ADDITIONS: return what_.group == 1 ? additions<typename C::G1>() : additions<typename C::G2>();
      case PINION_BENCH_MSM: return what_.group == 1 ? sum<typename C::G1>() : sum<typename C::G2>();
      case PINION_BENCH_QUOTIENT: return quotients();
      default: return transform();
    }
  }

 private:
  size_t size() const { return size_t(1) << what_.log_size; }
  // threads of a kernel that does arithmetic only: they fill the device, if there is enough to do. rounds is how long each has to go on.
  unsigned threads() const { return unsigned(std::min<size_t>(device_.processors() * 16, (size() + 127) / 128)) * 128; }
  unsigned rounds(size_t operations) const { return unsigned(std::max<size_t>(operations / threads(), 1)); }

  void multiplications() {
    const unsigned count = rounds(size() / 2);
    Buffer<S> factors = random(threads() + 1), results(device_, threads());
    time([] {}, [&] { multiply(stream_, factors.data(), results.data(), threads(), count); });
    result_.operations = uint64_t(threads()) * count * 2;
    Chain<S> chain;
    stream_.copyOut(&chain, factors.data(), sizeof chain);
    give(result_.found, read(results.data()));
    give(result_.expected, chain.product(count));
  }

  template <class F>
  void additions() {
    const unsigned count = rounds(size()), items = threads();
    const unsigned cached = unsigned(std::min<size_t>(size(), 1 << 12));
    Buffer<S> exponents = random(cached);
    Buffer<Affine<F>> points(device_, cached);
    Buffer<Xyzz<F>> sums(device_, items);
    fillPoints(points.data(), exponents);
    time([] {}, [&] { addUp(stream_, points.data(), cached - 1, items, count, sums.data()); });
    result_.operations = uint64_t(items) * count;
    std::vector<S> of(cached);
    stream_.copyOut(of.data(), exponents.data(), exponents.bytes());
    give(result_.found, read(sums.data()).toAffine());
    S expected = S::zero();
    for (unsigned i = 0; i < count; i++) expected = expected + of[i & (cached - 1)];
    give(result_.expected, expected);
  }

  template <class F>
  void sum() {
    const size_t n = size();
    const Windows windows = windowsFor(n * sizeof(Affine<F>));
    Buffer<S> exponents = random(n), scalars(device_, n);
    Buffer<Affine<F>> tables(device_, n * windows.tables);
    fillScalars(stream_, scalars.data(), n, what_.seed + 1, what_.sparse);
    fillPoints(tables.data(), exponents);
    const S expected = sumOfProducts<S>(stream_, exponents.data(), scalars.data(), n);
    exponents = Buffer<S>();
    fillTables(stream_, tables.data(), n, windows);
    Plan<S> plan(device_, n, 1, windows);
    Sums<F> sums(device_, plan.capacity(), 1, windows);
    Buffer<Xyzz<F>> result(device_, 1);
    time([] {}, [&] {
      plan.make(stream_, scalars.data(), false, 1);
      sums.run(stream_, plan, static_cast<const Affine<F> *>(tables.data()), result.data());
    });
    result_.operations = plan.size();
    result_.bits = uint32_t(windows.bits);
    result_.tables = uint32_t(windows.tables);
    give(result_.found, read(result.data()).toAffine());
    give(result_.expected, expected);
  }

  // windowsFor is for bases of so many bytes. Where the library chooses, tables take an eighth of the memory, as a circuit's do.
  Windows windowsFor(size_t bytes) {
    int tables = int(what_.tables);
    if (tables == 0) {
      pinion_device_info info;
      device_.describe(&info);
      for (tables = device_.maxTables(); tables > 1 && size_t(tables) * bytes > size_t(info.memory) / 8;) tables /= 2;
    }
    return Windows::choose(S::Params::bits, size(), 1, tables);
  }

  void transform() {
    const bool down = what_.kind == PINION_BENCH_NTT_DOWN;
    const size_t n = size();
    const Domain<S> domain(device_, stream_, what_.log_size);
    const Buffer<S> input = random(n), values(device_, n);
    const S x = read(random(1).data());
    time([&] { stream_.copy(values.data(), input.data(), values.bytes()); },
         [&] { down ? domain.toCoefficients(stream_, values.data(), 1) : domain.toCosetValues(stream_, values.data(), 1); });
    if (down) {
      S coefficients = evaluated(stream_, static_cast<const S *>(values.data()), what_.log_size, x);
      S scale = S::one();
      for (unsigned i = 0; i < what_.log_size; i++) scale = scale.doubled();
      give(result_.found, coefficients * scale.inverse());
      give(result_.expected, interpolated(stream_, static_cast<const S *>(input.data()), Places<S>::onDomain(what_.log_size), x));
    } else {
      give(result_.found, interpolated(stream_, static_cast<const S *>(values.data()), Places<S>::onOddCoset(what_.log_size), x));
      give(result_.expected, evaluated(stream_, static_cast<const S *>(input.data()), what_.log_size, x));
    }
    result_.operations = n / 2 * what_.log_size;
  }

  void quotients() {
    const size_t n = size();
    const Domain<S> domain(device_, stream_, what_.log_size);
    const Places<S> places = Places<S>::onDomain(what_.log_size);
    const Buffer<S> input = random(2 * n), vectors(device_, 3 * n);
    const S x = read(random(1).data());
    time([&] { stream_.copy(vectors.data(), input.data(), input.bytes()); }, [&] { quotient(stream_, domain, vectors.data(), 1, Form::integer, false); });
    const S h = interpolated(stream_, static_cast<const S *>(vectors.data()), Places<S>::onOddCoset(what_.log_size), x);
    const S *a = input.data(), *b = a + n;
    S *c = vectors.data();
    stream_.launch("multiplyPointwise", Shape{blocksFor(n, 256), 256}, multiplyPointwise<S>, a, b, c, n);
    // On the coset ab - c is -2 times the quotient by X^n - 1. h is off by R, for it is of integers, and a and b are taken for elements.
    const S ab = interpolated(stream_, a, places, x) * interpolated(stream_, b, places, x);
    const S difference = ab - interpolated(stream_, static_cast<const S *>(c), places, x);
    const S expected = -difference.doubled() * (x.power(n) - S::one()).inverse();
    give(result_.found, h);
    give(result_.expected, S::fromInteger(expected));
    result_.operations = 6 * (n / 2) * what_.log_size;
  }

  // time repeats body, with before in front of it, which doesn't count. The first time doesn't count either.
  template <class Before, class Body>
  void time(Before before, Body body) {
    Event begin(device_), end(device_);
    std::vector<float> all;
    for (uint32_t i = 0; i <= what_.repetitions; i++) {
      before();
      stream_.record(begin);
      body();
      stream_.record(end);
      stream_.synchronize();
      if (i > 0) all.push_back(end.since(begin));
    }
    std::sort(all.begin(), all.end());
    result_.least = all.front();
    result_.median = all[all.size() / 2];
    result_.greatest = all.back();
  }

  // fillPoints makes multiples of the generator.
  template <class F>
  void fillPoints(Affine<F> *points, const Buffer<S> &exponents) {
    using M = Multiples<F, S>;
    M multiples(device_, stream_, exponents.size());
    std::vector<S> piece(std::min(exponents.size(), M::most));
    for (size_t at = 0; at < exponents.size(); at += piece.size()) {
      const size_t n = std::min(exponents.size() - at, piece.size());
      stream_.copyOut(piece.data(), exponents.data() + at, n * sizeof(S));
      stream_.synchronize();
      multiples.run(stream_, piece.data(), n, points + at);
      stream_.synchronize();
    }
    multiples.check(stream_);
  }

  // random has n fresh scalars.
  Buffer<S> random(size_t n) {
    Buffer<S> scalars(device_, n);
    fillScalars(stream_, scalars.data(), n, what_.seed + 2 * ++drawn_, 0);
    return scalars;
  }

  template <class T>
  T read(const T *from) {
    T value;
    stream_.copyOut(&value, from, sizeof value);
    stream_.synchronize();
    return value;
  }

  template <class T>
  void give(uint8_t *to, const T &value) { std::memcpy(to, &value, sizeof value); }

  Device &device_;
  Stream stream_;
  const pinion_bench_case &what_;
  pinion_bench_result &result_;
  uint64_t drawn_ = 0;
};

}  // namespace pinion

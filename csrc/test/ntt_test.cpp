// Transforms against evaluation of the polynomial, term by term.
#include "../ntt/domain.h"
#include "check.h"
#include "random.h"

#include <vector>

using namespace pinion;

namespace {

unsigned reversed(unsigned i, unsigned bits) {
  unsigned r = 0;
  for (unsigned j = 0; j < bits; j++) r |= (i >> j & 1) << (bits - 1 - j);
  return r;
}

// rootOf is 5^((r-1)/2^bits), from the modulus alone.
template <class F>
F rootOf(unsigned bits) {
  F five = F::zero();
  for (int i = 0; i < 5; i++) five = five + F::one();
  F e = F::modulus();
  e.w[0] -= 1;
  F x = F::one();
  for (int i = F::Params::bits - 1; i >= int(bits); i--) {
    x = x.squared();
    if (e.w[i / 32] >> (i % 32) & 1) x = x * five;
  }
  return x;
}

template <class F>
F evaluate(const std::vector<F> &coefficients, const F &at) {
  F sum = F::zero();
  for (size_t i = coefficients.size(); i > 0; i--) sum = sum * at + coefficients[i - 1];
  return sum;
}

template <class F>
struct Bench {
  Device device{0};
  Stream stream{device};
  Domain<F> domain;
  Buffer<F> memory;
  unsigned logN, count;

  Bench(unsigned logN, unsigned count) : domain(device, stream, logN), memory(device, count << logN), logN(logN), count(count) {}
  void put(const std::vector<F> &values) {
    stream.copyIn(memory.data(), values.data(), values.size() * sizeof(F));
    stream.synchronize();
  }
  std::vector<F> get() {
    std::vector<F> values(memory.size());
    stream.copyOut(values.data(), memory.data(), values.size() * sizeof(F));
    stream.synchronize();
    return values;
  }
};

template <class F>
void againstNaive(unsigned logN, unsigned count) {
  Bench<F> bench(logN, count);
  const unsigned n = 1u << logN;
  std::vector<F> coefficients(size_t(count) << logN), shuffled(coefficients.size());
  for (F &c : coefficients) c = randomElement<F>();
  for (unsigned v = 0; v < count; v++) {
    for (unsigned i = 0; i < n; i++) shuffled[v * n + reversed(i, logN)] = coefficients[v * n + i];
  }
  const F w = rootOf<F>(logN), w2 = rootOf<F>(logN + 1);
  // At size, points here and there.
  const unsigned step = n <= 256 ? 1 : n / 7;
  auto compare = [&](const std::vector<F> &got, const F &shift, const F &scale, const char *what) {
    for (unsigned v = 0; v < count; v++) {
      std::vector<F> one(coefficients.begin() + v * n, coefficients.begin() + (v + 1) * n);
      for (unsigned i = 0; i < n; i += step) {
        const F want = evaluate(one, shift * w.power(i)) * scale;
        if (got[v * n + i] != want) return CHECK(false, "%s: 2^%u, vector %u, value %u", what, logN, v, i);
      }
    }
  };
  bench.put(shuffled);
  bench.domain.toValues(bench.stream, bench.memory.data(), count);
  const std::vector<F> values = bench.get();
  compare(values, F::one(), F::one(), "toValues");
  bench.put(shuffled);
  bench.domain.toCosetValues(bench.stream, bench.memory.data(), count);
  compare(bench.get(), w2, F::one(), "toCosetValues");
  F scale = F::one();
  for (unsigned i = 0; i < logN; i++) scale = scale.doubled();
  const auto isScaled = [&](const char *what) {
    const std::vector<F> back = bench.get();
    for (size_t i = 0; i < back.size(); i++) {
      if (back[i] != shuffled[i] * scale) return CHECK(false, "%s: 2^%u, coefficient %zu", what, logN, i);
    }
  };
  bench.domain.fromCoset(bench.stream, bench.memory.data(), count);
  isScaled("fromCoset");
  bench.put(values);
  bench.domain.toCoset(bench.stream, bench.memory.data(), count);
  compare(bench.get(), w2, scale, "toCoset");
  bench.put(values);
  bench.domain.toCoefficients(bench.stream, bench.memory.data(), count);
  isScaled("toCoefficients");
}

}  // namespace

TEST(ntt_bn254) {
  for (unsigned logN = 1; logN <= 8; logN++) againstNaive<Bn254Fr>(logN, 1);
  againstNaive<Bn254Fr>(5, 3);
  againstNaive<Bn254Fr>(11, 2);
  againstNaive<Bn254Fr>(12, 2);
  againstNaive<Bn254Fr>(13, 1);
}

TEST(ntt_bls12381) {
  for (unsigned logN = 1; logN <= 8; logN++) againstNaive<Bls12381Fr>(logN, 1);
  againstNaive<Bls12381Fr>(12, 1);
  againstNaive<Bls12381Fr>(14, 1);
}

// Transforms on a card at size, checked and timed: ntt_card [most bits] [repetitions].
#include "../ntt/domain.h"
#include "random.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace pinion;

namespace {

int failures = 0;

template <class F>
PINION_KERNEL scramble(F *values, size_t n, F seed) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) values[i] = (seed + F::one()).power(i * 2654435761u + 12345);
}

template <class F>
PINION_KERNEL differing(const F *a, const F *b, size_t n, F scale, unsigned long long *count) {
  for (size_t i = globalThread(); i < n; i += globalThreads()) {
    if (a[i] != b[i] * scale) atomicAdd(count, 1ull);
  }
}

size_t reversed(size_t i, unsigned bits) {
  size_t r = 0;
  for (unsigned j = 0; j < bits; j++) r |= (i >> j & 1) << (bits - 1 - j);
  return r;
}

template <class F>
F rootOf(unsigned bits) {
  F x;
  for (int i = 0; i < F::words; i++) x.w[i] = F::Params::root(i);
  for (int i = bits; i < F::Params::twoAdicity; i++) x = x.squared();
  return x;
}

// checkSparse transforms a polynomial of three terms, and looks at values here and there.
template <class F>
void checkSparse(Stream &stream, const Domain<F> &domain, F *values, unsigned logN, bool coset) {
  const size_t n = size_t(1) << logN, powers[3] = {1, n / 3, n - 1};
  F factors[3];
  stream.clear(values, n * sizeof(F));
  for (int k = 0; k < 3; k++) {
    factors[k] = randomElement<F>();
    stream.copyIn(values + reversed(powers[k], logN), &factors[k], sizeof(F));
  }
  if (coset) {
    domain.toCosetValues(stream, values, 1);
  } else {
    domain.toValues(stream, values, 1);
  }
  const F w = rootOf<F>(logN), shift = coset ? rootOf<F>(logN + 1) : F::one();
  for (size_t i : {size_t(0), size_t(1), n / 5, n / 2 + 1, n - 1}) {
    F got, want = F::zero();
    const F x = shift * w.power(i);
    for (int k = 0; k < 3; k++) want = want + factors[k] * x.power(powers[k]);
    stream.copyOut(&got, values + i, sizeof(F));
    stream.synchronize();
    if (got != want) failures++, std::printf("2^%u coset %d: value %zu is wrong\n", logN, int(coset), i);
  }
}

template <class F>
void measure(const char *name, unsigned logN, int repetitions) {
  Device device(0);
  Stream stream(device);
  Event start(device), end(device);
  const size_t n = size_t(1) << logN;
  Domain<F> domain(device, stream, logN);
  Buffer<F> values(device, 3 * n), original(device, 3 * n);
  Buffer<unsigned long long> count(device, 1);
  checkSparse(stream, domain, values.data(), logN, false);
  checkSparse(stream, domain, values.data(), logN, true);
  stream.launch("scramble", Shape{blocksFor(3 * n, 256, 1 << 16), 256}, scramble<F>, original.data(), 3 * n, randomElement<F>());
  stream.copy(values.data(), original.data(), values.bytes());
  domain.toCoefficients(stream, values.data(), 3);
  domain.toValues(stream, values.data(), 3);
  F scale = F::one();
  for (unsigned i = 0; i < logN; i++) scale = scale.doubled();
  unsigned long long wrong = 0;
  stream.clear(count.data(), 8);
  stream.launch("differing", Shape{blocksFor(3 * n, 256, 1 << 16), 256}, differing<F>, static_cast<const F *>(values.data()),
                static_cast<const F *>(original.data()), 3 * n, scale, count.data());
  stream.copyOut(&wrong, count.data(), 8);
  stream.synchronize();
  if (wrong) failures++, std::printf("2^%u: %llu wrong after down and up\n", logN, wrong);

  float best[3] = {1e9, 1e9, 1e9};
  for (int r = 0; r < repetitions; r++) {
    for (int what = 0; what < 3; what++) {
      stream.record(start);
      if (what == 0) domain.toCoefficients(stream, values.data(), 1);
      if (what == 1) domain.toCosetValues(stream, values.data(), 1);
      if (what == 2) domain.toCoset(stream, values.data(), 3);
      stream.record(end);
      stream.synchronize();
      const float ms = end.since(start);
      if (ms < best[what]) best[what] = ms;
    }
  }
  std::printf("%s 2^%u: down %.4f ms, up %.4f, quotient's (3 down, 3 up) %.4f; floor of one %.4f\n", name, logN, best[0], best[1], best[2],
              double(n) * logN / 2 / 61.8e6);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char **argv) {
  const unsigned most = argc > 1 ? std::atoi(argv[1]) : 24;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 10;
  try {
    for (unsigned logN = 10; logN <= most; logN += logN < 14 ? 1 : 2) {
      measure<Bn254Fr>("BN254", logN, repetitions);
      measure<Bls12381Fr>("BLS12-381", logN, repetitions);
    }
  } catch (const Failure &failure) {
    std::printf("%s\n", failure.what());
    return 2;
  }
  std::printf("%d failures\n", failures);
  return failures != 0;
}

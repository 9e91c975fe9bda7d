// Sums of products on a card: the tests of msm_test.h, then sums at size, checked and timed. One program for each group, by PINION_GROUP.
#include "../setup/generators.h"
#include "msm_test.h"

#include <cstdlib>

namespace {

#if PINION_GROUP == 1
using Curve = Bn254;
using F = Curve::G1;
const char *const groupName = "bn254 g1";
#elif PINION_GROUP == 2
using Curve = Bn254;
using F = Curve::G2;
const char *const groupName = "bn254 g2";
#elif PINION_GROUP == 3
using Curve = Bls12381;
using F = Curve::G1;
const char *const groupName = "bls12381 g1";
#else
using Curve = Bls12381;
using F = Curve::G2;
const char *const groupName = "bls12381 g2";
#endif
using S = Curve::Scalar;

// times is n P, bit by bit.
Xyzz<F> times(const Affine<F> &p, const S &n) {
  Xyzz<F> r = Xyzz<F>::infinity();
  for (int i = S::words * 32 - 1; i >= 0; i--) {
    r.twice();
    if (n.w[i / 32] >> (i % 32) & 1) r.add(p);
  }
  return r;
}

// run of consecutive multiples that a thread of multiples makes.
constexpr uint32_t run = 64;

// multiples writes P, 2 P, 3 P and so on.
PINION_KERNEL_BOUNDS(128, 1) multiples(Affine<F> p, Affine<F> *out, size_t n) {
  const size_t first = globalThread() * run;
  Xyzz<F> sum = Xyzz<F>::infinity();
  for (int i = 31; i >= 0; i--) {
    sum.twice();
    if (first >> i & 1) sum.add(p);
  }
  for (size_t i = first; i < first + run && i < n; i++) {
    sum.add(p);
    out[i] = sum.toAffine();
  }
}

template <class T>
PINION_KERNEL_BOUNDS(128, 1) products(T *values, int count) {
  T a = values[globalThread()], b = values[globalThread() + 1];
  for (int i = 0; i < count; i++) {
    a = a * b;
    b = b * a;
  }
  values[globalThread()] = a + b;
}

using T = Held<F>::Type;

PINION_KERNEL_BOUNDS(128, msm::gatherBlocks<T>) additions(const Affine<F> *points, unsigned mask, int count, Xyzz<F> *sums) {
  const size_t item = msm::itemIndex<T>();
  Xyzz<T> sum = Xyzz<T>::infinity();
  for (int i = 0; i < count; i++) sum.add(msm::load<T>(points[(item * 7 + i) & mask]));
  msm::store<T>(sums[item], sum);
}

uint64_t state = 88172645463325252ull;
uint64_t splitmix() {
  uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void scalarsInto(std::vector<S> &scalars, bool sparse) {
  for (S &s : scalars) {
    const uint64_t kind = sparse ? splitmix() % 1000 : 999;
    s = S::zero();
    if (kind >= 425 && kind < 850) s.w[0] = 1;
    if (kind < 850) continue;
    do {
      for (int i = 0; i < 8; i += 2) {
        const uint64_t w = splitmix();
        s.w[i] = uint32_t(w);
        s.w[i + 1] = uint32_t(w >> 32);
      }
      s.w[7] &= (1u << (S::Params::bits - 224)) - 1;
    } while (!s.inRange());
  }
}

// expected is the sum of (i + 1) s_i P.
Affine<F> expectedSum(const std::vector<S> &scalars) {
  unsigned __int128 columns[8] = {};
  for (size_t i = 0; i < scalars.size(); i++) {
    for (int k = 0; k < 8; k++) columns[k] += uint64_t(scalars[i].w[k]) * (i + 1);
  }
  S sum = S::zero(), shift = S::one();
  S base = S::zero();  // 2^32
  base.w[1] = 1;
  base = S::fromInteger(base);
  for (int k = 0; k < 8; k++) {
    S column = S::zero();
    for (int w = 0; w < 4; w++) column.w[w] = uint32_t(columns[k] >> (32 * w));
    sum = sum + S::fromInteger(column) * shift;
    shift = shift * base;
  }
  return times(generator<F>(), sum.toInteger()).toAffine();
}

float median(std::vector<float> v) {
  std::sort(v.begin(), v.end());
  return v[v.size() / 2];
}

void measure(Device &device, Stream &stream, const Affine<F> *points, int log, bool sparse, int maxTables, int bits) {
  const size_t n = size_t(1) << log;
  std::vector<S> scalars(n);
  scalarsInto(scalars, sparse);
  const Windows windows = bits ? Windows::of(bits, S::Params::bits, maxTables) : Windows::choose(S::Params::bits, n, 1, maxTables);
  Buffer<S> input(device, n);
  stream.copyIn(input.data(), scalars.data(), n * sizeof(S));
  Buffer<Affine<F>> tables(device, n * windows.tables);
  Buffer<Xyzz<F>> result(device, 1);
  stream.copy(tables.data(), points, n * sizeof(Affine<F>));
  Event a(device), b(device), c(device);
  stream.record(a);
  fillTables(stream, tables.data(), n, windows);
  stream.record(b);
  stream.synchronize();
  const float making = b.since(a);
  Plan<S> plan(device, n, 1, windows);
  Sums<F> sums(device, plan.capacity(), 1, windows);
  std::vector<float> all, planning;
  for (int i = 0; i < 6; i++) {
    stream.record(a);
    plan.make(stream, input.data(), false, 1);
    stream.record(b);
    sums.run(stream, plan, tables.data(), result.data());
    stream.record(c);
    stream.synchronize();
    if (i == 0) continue;
    all.push_back(c.since(a));
    planning.push_back(b.since(a));
  }
  Xyzz<F> got;
  stream.copyOut(&got, result.data(), sizeof got);
  stream.synchronize();
  const bool right = got.toAffine() == expectedSum(scalars);
  CHECK(right, "%s 2^%d", groupName, log);
  std::printf("%-13s 2^%d %-6s bits %2d tables %2d groups %2d: %8.3f ms (plan %7.3f, sum %8.3f) entries %zu making %.0f ms %s\n", groupName, log,
              sparse ? "sparse" : "dense", windows.bits, windows.tables, windows.groups, median(all), median(planning),
              median(all) - median(planning), plan.size(), making, right ? "right" : "WRONG");
}

}  // namespace

// main LOG TABLESLOG [WIDTHSLOG]: sizes up to 2^LOG, with tables up to 2^TABLESLOG, and all widths of windows at 2^WIDTHSLOG. With a
// fourth argument, for a profiler, only the largest size.
int main(int argc, char **argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const int most = argc > 1 ? std::atoi(argv[1]) : 20, mostTables = argc > 2 ? std::atoi(argv[2]) : 18;
  try {
    Device device(0);
    device.use();
    const bool profile = argc > 4;
    if (!profile) group<F, S>(groupName, device);
    std::printf("%s: tests done, %d failures\n", groupName, failures);
    const size_t n = size_t(1) << most;
    Stream stream(device);
    Buffer<Affine<F>> points(device, n);
    stream.launch("multiples", Shape{blocksFor((n + run - 1) / run, 128), 128}, multiples, generator<F>(), points.data(), n);
    if (profile) {
      measure(device, stream, points.data(), most, false, 1, 0);
      measure(device, stream, points.data(), most, false, 100, 0);
      return failures != 0;
    }
    Event a(device), b(device);
    {
      const unsigned blocks = device.processors() * 16;
      Buffer<S> s(device, blocks * 128 + 1);
      Buffer<Xyzz<F>> sums(device, blocks * 128);
      for (int i = 0; i < 2; i++) {
        stream.record(a);
        stream.launch("products", Shape{blocks, 128}, products<S>, s.data(), 1000);
        stream.record(b);
        stream.synchronize();
      }
      std::printf("scalar products %.1f G/s\n", blocks * 128 * 2000.0 / b.since(a) / 1e6);
      for (int i = 0; i < 2; i++) {
        stream.record(a);
        stream.launch("additions", Shape{blocks, 128}, additions, points.data(), 4095u, 200, sums.data());
        stream.record(b);
        stream.synchronize();
      }
      std::printf("%s additions %.2f G/s\n", groupName, blocks * 128 / T::lanes * 200.0 / b.since(a) / 1e6);
    }
    for (int log = 10; log <= most; log += log < 14 ? 4 : 2) {
      for (bool sparse : {false, true}) {
        measure(device, stream, points.data(), log, sparse, 1, 0);
        if (log <= mostTables) measure(device, stream, points.data(), log, sparse, 100, 0);
      }
    }
    for (int bits = 13; bits <= 20 && argc > 3; bits++) measure(device, stream, points.data(), std::atoi(argv[3]), false, 1, bits);
  } catch (const std::exception &f) {
    std::printf("FAIL %s: %s\n", groupName, f.what());
    failures++;
  }
  return failures != 0;
}
int failures = 0;

// Whole proofs of a made-up circuit, timed, and the first of them checked: prove_card [curve 1|2] [bits of the domain] [proofs] [percent of
// the witness that is 0 or 1] [rounds].
//
// The key is made of exponents, in the form of powers of a known tau, so that what a proof has to be can be computed in the scalar field
// alone: no key that anyone should prove with. As in real circuits, half of the wires aren't in B.
#include "../curve/point.h"
#include "../setup/generators.h"
#include "pinion.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

using namespace pinion;

namespace {

void must(int32_t code, const pinion_error &error) {
  if (code == PINION_OK) return;
  std::printf("code %d: %s\n", code, error.message);
  std::exit(1);
}

void print(const char *how, const pinion_timings &t) {
  std::printf("  %s: upload %.3f (overlapped %.3f) synthesis %.3f ntt %.3f sort %.3f a %.3f b1 %.3f b2 %.3f c %.3f h %.3f finish %.3f total %.3f\n", how, t.upload, t.overlapped,
              t.synthesis, t.ntt, t.sort, t.a, t.b1, t.b2, t.c, t.h, t.finish, t.total);
}

double clockMs() { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

constexpr size_t block = 1 << 14;

// each calls body(first, end, block number) for blocks of n places, on all cores.
template <class Body>
void each(size_t n, Body body) {
  const size_t workers = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> threads;
  for (size_t w = 0; w < workers; w++) {
    threads.emplace_back([=] {
      for (size_t b = w; b * block < n; b += workers) body(b * block, std::min(n, (b + 1) * block), b);
    });
  }
  for (std::thread &thread : threads) thread.join();
}

// sum adds up what term gives for n places.
template <class S, class Term>
S sum(size_t n, Term term) {
  std::vector<S> parts((n + block - 1) / block, S::zero());
  each(n, [&](size_t first, size_t end, size_t b) {
    S s = S::zero();
    for (size_t i = first; i < end; i++) s = s + term(i);
    parts[b] = s;
  });
  S s = S::zero();
  for (const S &part : parts) s = s + part;
  return s;
}

// word is a number that looks random, the same for the same place.
uint64_t word(uint64_t place) {
  place += 0x9e3779b97f4a7c15u;
  place = (place ^ place >> 30) * 0xbf58476d1ce4e5b9u;
  place = (place ^ place >> 27) * 0x94d049bb133111ebu;
  return place ^ place >> 31;
}

// integer is one below the order.
template <class S>
S integer(uint64_t place) {
  S x;
  for (int i = 0; i < S::words; i += 2) {
    const uint64_t w = word(place * 8 + i);
    x.w[i] = uint32_t(w);
    x.w[i + 1] = uint32_t(w >> 32);
  }
  x.w[S::words - 1] &= 0x0fffffff;
  return x;
}

template <class S>
S small(uint32_t n) {
  S x = S::zero();
  x.w[0] = n;
  return x;
}

// Made is a circuit, its key by exponents, and a witness. Exponents and witness are integers.
template <class C>
struct Made {
  using S = typename C::Scalar;
  static constexpr uint32_t publicWires = 2, coefficients = 64;
  unsigned logN;
  size_t n, rows, vars;
  S tau = S::fromInteger(integer<S>(12345)), r = small<S>(7), s = integer<S>(99);
  std::vector<uint32_t> starts, columns, values;
  std::vector<S> coefficient, a, b, c, h;
  S *witness = nullptr;

  explicit Made(unsigned logN) : logN(logN), n(size_t(1) << logN), rows(n - 1), vars(n - n / 32), starts(rows + 1), coefficient(coefficients), a(vars), b(vars), c(vars), h(n) {
    for (size_t i = 0; i < rows; i++) starts[i + 1] = starts[i] + 1 + uint32_t(i % 3);
    columns.resize(starts[rows]);
    values.resize(starts[rows]);
    for (uint32_t i = 0; i < coefficients; i++) coefficient[i] = integer<S>(i);
    coefficient[0] = S::one();
    coefficient[1] = -S::one();
    each(columns.size(), [&](size_t first, size_t end, size_t) {
      for (size_t i = first; i < end; i++) columns[i] = uint32_t(word(i) % vars), values[i] = word(i) >> 40 & 1 ? word(i) >> 41 & 1 : word(i) >> 42 & 63;
    });
    each(vars, [&](size_t first, size_t end, size_t) {
      for (size_t i = first; i < end; i++) {
        a[i] = integer<S>(3 * i);
        b[i] = word(i) >> 50 & 1 ? integer<S>(3 * i + 1) : S::zero();
        c[i] = integer<S>(3 * i + 2);
      }
    });
    each(n, [&](size_t first, size_t end, size_t) {
      S power = tau.power(first);
      for (size_t i = first; i < end; i++, power = power * tau) h[i] = i + 1 < n ? power.toInteger() : S::zero();
    });
  }

  void fill(unsigned percentSmall) {
    each(vars, [&](size_t first, size_t end, size_t) {
      for (size_t i = first; i < end; i++) {
        const uint64_t w = word(i + (uint64_t(1) << 40));
        witness[i] = w % 100 >= percentSmall ? integer<S>(i + (uint64_t(1) << 41)) : small<S>(w >> 32 & 1);
      }
    });
    witness[0] = small<S>(1);
  }

  // product is an exponent times a value of the witness, or the like, in Montgomery form.
  static S product(const S &x, const S &y) { return S::fromInteger(S::fromInteger(x) * y); }

  S row(size_t i) const {
    S x = S::zero();
    for (uint32_t k = starts[i]; k < starts[i + 1]; k++) x = x + coefficient[values[k]] * S::fromInteger(witness[columns[k]]);
    return x;
  }

  // quotientAtTau is h(tau), from the values of a and b, which are the same, on the domain, by Lagrange's formula.
  S quotientAtTau() const {
    S root;
    for (int i = 0; i < S::words; i++) root.w[i] = S::Params::root(i);
    for (int i = int(logN); i < S::Params::twoAdicity; i++) root = root.squared();
    const S z = tau.power(n) - S::one();
    std::vector<S> square((n + block - 1) / block);
    const auto block_ = [&](size_t first, size_t end, size_t at, S &linear) {
      std::vector<S> differences(end - first), before(end - first);
      S w = root.power(first), product = S::one();
      for (size_t i = 0; i < end - first; i++, w = w * root) {
        differences[i] = tau - w;
        before[i] = product;
        product = product * differences[i];
      }
      S inverse = product.inverse(), backwards = root.inverse();
      S squares = S::zero();
      for (size_t i = end - first; i-- > 0;) {
        w = w * backwards;
        const S weight = inverse * before[i] * w;
        inverse = inverse * differences[i];
        if (first + i >= rows) continue;
        const S value = row(first + i);
        linear = linear + weight * value;
        squares = squares + weight * value.squared();
      }
      square[at] = squares;
    };
    std::vector<S> linear(square.size(), S::zero());
    each(n, [&](size_t first, size_t end, size_t at) { block_(first, end, at, linear[at]); });
    S a = S::zero(), c = S::zero();
    for (size_t i = 0; i < linear.size(); i++) a = a + linear[i], c = c + square[i];
    const S scale = z * S::fromInteger(small<S>(uint32_t(n))).inverse();
    a = a * scale;
    c = c * scale;
    return (a * a - c) * z.inverse();
  }

  // exponents of A, B and C, all single points being the generator.
  void proof(S (&abc)[3]) const {
    const S one = S::one(), blindA = S::fromInteger(r), blindB = S::fromInteger(s);
    const S overA = one + sum<S>(vars, [&](size_t i) { return product(a[i], witness[i]); });
    const S overB = one + sum<S>(vars, [&](size_t i) { return product(b[i], witness[i]); });
    const S overC = sum<S>(vars, [&](size_t i) { return i > publicWires ? product(c[i], witness[i]) : S::zero(); });
    abc[0] = overA + blindA;
    abc[1] = overB + blindB;
    abc[2] = overC + quotientAtTau() + blindB * abc[0] + blindA * overB;
  }
};

template <class F, class S>
Affine<F> multiple(const Affine<F> &p, const S &exponent) {
  const S n = exponent.toInteger();
  Xyzz<F> x = Xyzz<F>::infinity();
  for (int i = 32 * S::words - 1; i >= 0; i--) {
    x.twice();
    if (n.w[i / 32] >> (i % 32) & 1) x.add(p);
  }
  return x.toAffine();
}

// good is whether all was as it has to be.
bool good = true;

const char *judge(bool right) {
  good &= right;
  return right ? "right" : "WRONG";
}

template <class C>
void compare(const Made<C> &made, const unsigned char *proof) {
  Affine<typename C::G1> a, c;
  Affine<typename C::G2> b;
  std::memcpy(&a, proof, sizeof a);
  std::memcpy(&b, proof + sizeof a, sizeof b);
  std::memcpy(&c, proof + sizeof a + sizeof b, sizeof c);
  const double before = clockMs();
  typename C::Scalar abc[3];
  made.proof(abc);
  const auto g1 = generator<typename C::G1>();
  const auto g2 = generator<typename C::G2>();
  std::printf("  A %s, B %s, C %s (computed in %.0f ms)\n", judge(a == multiple(g1, abc[0])), judge(b == multiple(g2, abc[1])),
              judge(c == multiple(g1, abc[2])), clockMs() - before);
}

template <class C>
void measure(uint32_t curve, unsigned logN, unsigned proofs, unsigned percentSmall, int rounds) {
  using S = typename C::Scalar;
  Made<C> made(logN);
  const auto g1 = generator<typename C::G1>();
  const auto g2 = generator<typename C::G2>();
  pinion_error error;
  pinion_device *device;
  must(pinion_device_open(0, &device, &error), error);
  pinion_key key{};
  key.curve = curve;
  key.quotient = PINION_POWERS;
  key.exponents = 1;
  key.vars = made.vars;
  key.public_wires = made.publicWires;
  key.domain = made.n;
  key.rows = made.rows;
  key.coefficients = made.coefficients;
  key.alpha1 = key.beta1 = key.delta1 = &g1;
  key.beta2 = key.delta2 = &g2;
  key.points_a = made.a.data();
  key.points_b1 = key.points_b2 = made.b.data();
  key.points_c = made.c.data() + made.publicWires + 1;
  key.points_h = made.h.data();
  key.a = key.b = pinion_matrix{made.starts.data(), made.columns.data(), made.values.data(), made.columns.size()};
  key.coefficient = made.coefficient.data();
  pinion_footprint footprint;
  must(pinion_circuit_footprint(device, &key, &footprint, &error), error);
  double before = clockMs();
  pinion_circuit *circuit;
  must(pinion_circuit_load(device, &key, &circuit, &error), error);
  pinion_device_info info;
  must(pinion_device_describe(device, &info, &error), error);
  std::printf("curve %u 2^%u: %.1f MiB, used %.1f, free %.1f, batch %u, loaded in %.0f ms\n", curve, logN, footprint.device / 1048576.0, info.used / 1048576.0,
              info.free / 1048576.0, footprint.batch, clockMs() - before);
  std::printf("  the footprint is %s\n", judge(info.used == footprint.device));

  void *memory;
  must(pinion_host_alloc(0, made.vars * 32, &memory, &error), error);
  made.witness = static_cast<S *>(memory);
  made.fill(percentSmall);
  std::vector<pinion_input> inputs(proofs);
  for (pinion_input &input : inputs) {
    input = pinion_input{};
    input.witness = memory;
    std::memcpy(input.r, &made.r, sizeof input.r);
    std::memcpy(input.s, &made.s, sizeof input.s);
  }
  const size_t size = proofs * sizeof(Affine<typename C::G1>) * 4;
  std::vector<unsigned char> out[2] = {std::vector<unsigned char>(size), std::vector<unsigned char>(size)};
  // Two tasks overlap, as in the service.
  pinion_task *tasks[2] = {};
  pinion_timings t{};
  double first = 0;
  for (int i = 0; i < rounds + 1; i++) {
    if (i < rounds) must(pinion_task_begin(circuit, inputs.data(), proofs, &tasks[i % 2], &error), error);
    if (i == 0) {
      must(pinion_task_wait_done(tasks[0], &error), error);
      before = clockMs();
      continue;
    }
    must(pinion_task_finish(tasks[(i - 1) % 2], out[(i - 1) % 2].data(), size, &t, &error), error);
    if (i == 1) first = t.total;
    if (i > 1 && out[0] != out[1]) std::printf("  proofs from round to round are %s\n", judge(false));
  }
  const double together = (clockMs() - before) / (rounds > 1 ? rounds - 1 : 1);
  pinion_timings apart{};
  before = clockMs();
  for (int i = 1; i < rounds; i++) {
    must(pinion_task_begin(circuit, inputs.data(), proofs, &tasks[0], &error), error);
    must(pinion_task_finish(tasks[0], out[0].data(), size, &apart, &error), error);
  }
  const double alone = (clockMs() - before) / (rounds > 1 ? rounds - 1 : 1);
  std::printf("  %u proofs, %u%% small: first %.3f ms; in a row %.3f ms a task, %.1f proofs/s; one by one %.3f ms\n", proofs, percentSmall, first, together, proofs / together * 1000, alone);
  print("side by side", t);
  if (rounds > 1) print("one by one", apart);
  std::fflush(stdout);
  compare(made, out[0].data());
  must(pinion_circuit_unload(circuit, &error), error);
  must(pinion_host_free(0, memory, &error), error);
  must(pinion_device_describe(device, &info, &error), error);
  std::printf("  used after unload: %lld, which is %s\n", static_cast<long long>(info.used), judge(info.used == 0));
  must(pinion_device_close(device, &error), error);
}

}  // namespace

int main(int argc, char **argv) {
  const auto number = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const uint32_t curve = uint32_t(number(1, PINION_BN254));
  const unsigned logN = unsigned(number(2, 16)), proofs = unsigned(number(3, 1)), percentSmall = unsigned(number(4, 0));
  const int rounds = number(5, 6);
  if (curve == PINION_BN254) measure<Bn254>(curve, logN, proofs, percentSmall, rounds);
  else measure<Bls12381>(curve, logN, proofs, percentSmall, rounds);
  return good ? 0 : 1;
}

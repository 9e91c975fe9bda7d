// Whole proofs of a made-up circuit, timed: prove_card [curve 1|2] [bits of the domain] [proofs] [percent of the witness that is 0 or 1].
// The key is no key, so the proofs prove nothing: right ones are tested elsewhere.
#include "../curve/point.h"
#include "../device/device.h"
#include "../setup/generators.h"
#include "random.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

using namespace pinion;

namespace {

constexpr uint32_t run = 64;

// multiples writes k P, (k + 1) P and so on.
template <class F>
PINION_KERNEL_BOUNDS(128, 1) multiples(Affine<F> p, Affine<F> *out, size_t n, size_t k) {
  const size_t first = globalThread() * run;
  Xyzz<F> sum = Xyzz<F>::infinity();
  for (int i = 33; i >= 0; i--) {
    sum.twice();
    if ((first + k - 1) >> i & 1) sum.add(p);
  }
  for (size_t i = first; i < first + run && i < n; i++) {
    sum.add(p);
    out[i] = sum.toAffine();
  }
}

template <class F>
std::vector<Affine<F>> points(Device &device, const Affine<F> &p, size_t n, size_t k) {
  Stream stream(device);
  Buffer<Affine<F>> memory(device, n);
  std::vector<Affine<F>> all(n);
  stream.launch("multiples", Shape{blocksFor((n + run - 1) / run, 128), 128}, multiples<F>, p, memory.data(), n, k);
  stream.copyOut(all.data(), memory.data(), memory.bytes());
  stream.synchronize();
  return all;
}

void must(int32_t code, const pinion_error &error) {
  if (code == PINION_OK) return;
  std::printf("code %d: %s\n", code, error.message);
  std::exit(1);
}

void print(const char *how, const pinion_timings &t) {
  std::printf("  %s: upload %.3f (overlapped %.3f) synthesis %.3f ntt %.3f sort %.3f a %.3f b1 %.3f b2 %.3f c %.3f h %.3f finish %.3f total %.3f\n", how, t.upload, t.overlapped,
              t.synthesis, t.ntt, t.sort, t.a, t.b1, t.b2, t.c, t.h, t.finish, t.total);
}

template <class C>
void measure(uint32_t curve, unsigned logN, unsigned proofs, unsigned small) {
  using S = typename C::Scalar;
  const size_t n = size_t(1) << logN, rows = n - 1, vars = n - n / 16;
  std::vector<Affine<typename C::G1>> g1, h;
  std::vector<Affine<typename C::G2>> g2;
  {
    Device device(0);
    g1 = points<typename C::G1>(device, generator<typename C::G1>(), vars, 5);
    h = points<typename C::G1>(device, generator<typename C::G1>(), n, vars + 9);
    g2 = points<typename C::G2>(device, generator<typename C::G2>(), vars, 5);
  }
  std::vector<uint32_t> starts(rows + 1), columns, values;
  for (size_t i = 0; i < rows; i++) {
    for (unsigned k = 0; k < 1 + i % 4; k++) {
      columns.push_back(generator()() % vars);
      values.push_back(generator()() % 64);
    }
    starts[i + 1] = uint32_t(columns.size());
  }
  std::vector<S> coefficients(64);
  for (S &c : coefficients) c = randomElement<S>();
  coefficients[0] = S::one();
  coefficients[1] = -S::one();

  pinion_error error;
  pinion_device *device;
  must(pinion_device_open(0, &device, &error), error);
  pinion_key key{};
  key.curve = curve;
  key.vars = vars;
  key.public_wires = 2;
  key.domain = n;
  key.rows = rows;
  key.coefficients = coefficients.size();
  key.alpha1 = key.beta1 = key.delta1 = g1.data();
  key.beta2 = key.delta2 = g2.data();
  key.points_a = key.points_b1 = g1.data();
  key.points_b2 = g2.data();
  key.points_c = g1.data() + 3;
  key.points_h = h.data();
  key.a = key.b = pinion_matrix{starts.data(), columns.data(), values.data(), columns.size()};
  key.coefficient = coefficients.data();
  pinion_footprint footprint;
  must(pinion_circuit_footprint(device, &key, &footprint, &error), error);
  auto clock = [] { return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count(); };
  double before = clock();
  pinion_circuit *circuit;
  must(pinion_circuit_load(device, &key, &circuit, &error), error);
  pinion_device_info info;
  must(pinion_device_describe(device, &info, &error), error);
  std::printf("curve %u 2^%u: %.1f MiB, used %.1f, batch %u, loaded in %.0f ms\n", curve, logN, footprint.device / 1048576.0, info.used / 1048576.0, footprint.batch, clock() - before);

  void *memory;
  must(pinion_host_alloc(0, vars * 32, &memory, &error), error);
  S *witness = static_cast<S *>(memory);
  for (size_t i = 0; i < vars; i++) {
    witness[i] = S::zero();
    if (generator()() % 100 >= small) witness[i] = randomElement<S>();
    else witness[i].w[0] = generator()() & 1;
  }
  witness[0] = S::zero();
  witness[0].w[0] = 1;
  std::vector<pinion_input> inputs(proofs);
  for (pinion_input &input : inputs) {
    input = pinion_input{};
    input.witness = witness;
    input.r[0] = input.s[3] = 7;
  }
  const size_t size = proofs * sizeof(Affine<typename C::G1>) * 4;
  std::vector<unsigned char> out[2] = {std::vector<unsigned char>(size), std::vector<unsigned char>(size)};
  // Two tasks overlap, as in the service.
  pinion_task *tasks[2] = {};
  const int rounds = 6;
  pinion_timings t{};
  double first = 0;
  for (int i = 0; i < rounds + 1; i++) {
    if (i < rounds) must(pinion_task_begin(circuit, inputs.data(), proofs, &tasks[i % 2], &error), error);
    if (i == 0) {
      must(pinion_task_wait_done(tasks[0], &error), error);
      before = clock();
      continue;
    }
    must(pinion_task_finish(tasks[(i - 1) % 2], out[(i - 1) % 2].data(), size, &t, &error), error);
    if (i == 1) first = t.total;
    if (i > 1 && out[0] != out[1]) std::printf("proofs differ from round to round\n");
  }
  const double each = (clock() - before) / (rounds - 1);
  pinion_timings apart{};
  before = clock();
  for (int i = 1; i < rounds; i++) {
    must(pinion_task_begin(circuit, inputs.data(), proofs, &tasks[0], &error), error);
    must(pinion_task_finish(tasks[0], out[0].data(), size, &apart, &error), error);
  }
  const double alone = (clock() - before) / (rounds - 1);
  std::printf("  %u proofs, %u%% small: first %.3f ms, then %.3f ms a task, %.1f proofs/s; one by one %.3f ms\n", proofs, small, first, each, proofs / each * 1000, alone);
  print("side by side", t);
  print("one by one", apart);
  must(pinion_circuit_unload(circuit, &error), error);
  must(pinion_host_free(0, memory, &error), error);
  must(pinion_device_describe(device, &info, &error), error);
  std::printf("  used after unload: %lld\n", static_cast<long long>(info.used));
  must(pinion_device_close(device, &error), error);
}

}  // namespace

int main(int argc, char **argv) {
  const uint32_t curve = argc > 1 ? std::atoi(argv[1]) : PINION_BN254;
  const unsigned logN = argc > 2 ? std::atoi(argv[2]) : 16, proofs = argc > 3 ? std::atoi(argv[3]) : 1, small = argc > 4 ? std::atoi(argv[4]) : 0;
  try {
    if (curve == PINION_BN254) measure<Bn254>(curve, logN, proofs, small);
    else measure<Bls12381>(curve, logN, proofs, small);
  } catch (const Failure &failure) {
    std::printf("%s\n", failure.what());
    return 2;
  }
}

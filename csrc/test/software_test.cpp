// The software device itself: barriers, warps, streams, and failures on demand.
#ifndef __CUDACC__
#include "../ntt/domain.h"
#include "check.h"
#include "random.h"

using namespace pinion;

namespace {

// turn reverses the order of a block's values through shared memory, twice.
PINION_KERNEL turnTwice(unsigned *values) {
  PINION_SHARED unsigned tile[64];
  const unsigned t = threadIndex(), at = blockIndex() * threadCount() + t;
  tile[t] = values[at];
  barrier();
  const unsigned other = tile[threadCount() - 1 - t];
  barrier();
  tile[t] = other + 1;
  barrier();
  values[at] = tile[threadCount() - 1 - t];
}

PINION_KERNEL warpSums(unsigned *values) {
  unsigned x = values[globalThread()];
  for (unsigned by = 16; by; by /= 2) x += shuffleXor(x, by);
  const unsigned first = shuffle(x, 0), up = shuffleUp(laneIndex(), 1), down = shuffleDown(laneIndex(), 1);
  if (ballot(laneIndex() % 2) != 0xaaaaaaaau) x = 0;
  if (first != x || up != (laneIndex() ? laneIndex() - 1 : 0) || down != (laneIndex() < 31 ? laneIndex() + 1 : 31)) x = 0;
  values[globalThread()] = x;
}

PINION_KERNEL uneven(unsigned *) {
  if (threadIndex() == 0) barrier();
}

// transformsRight is whether 2^12 elements come back from down and up.
bool transformsRight() {
  Device device(0);
  Stream stream(device);
  const unsigned logN = 12;
  Domain<Bn254Fr> domain(device, stream, logN);
  std::vector<Bn254Fr> values(1u << logN), got(values.size());
  for (auto &x : values) x = randomElement<Bn254Fr>();
  Buffer<Bn254Fr> memory(device, values.size());
  stream.copyIn(memory.data(), values.data(), memory.bytes());
  domain.toCoefficients(stream, memory.data(), 1);
  domain.toValues(stream, memory.data(), 1);
  stream.copyOut(got.data(), memory.data(), memory.bytes());
  stream.synchronize();
  Bn254Fr scale = Bn254Fr::one();
  for (unsigned i = 0; i < logN; i++) scale = scale.doubled();
  for (size_t i = 0; i < got.size(); i++) {
    if (got[i] != values[i] * scale) return false;
  }
  return true;
}

int lineOf(const char *file, const char *text) {
  std::FILE *f = std::fopen(file, "r");
  if (!f) return 0;
  char line[512];
  int found = 0;
  for (int n = 1; std::fgets(line, sizeof line, f); n++) {
    if (std::string(line).find(text) != std::string::npos) found = n;
  }
  std::fclose(f);
  return found;
}

int codeOf(const std::function<void()> &body) {
  try {
    body();
  } catch (const Failure &failure) {
    return failure.code();
  }
  return PINION_OK;
}

}  // namespace

TEST(software_barrier) {
  Device device(0);
  Stream stream(device);
  Buffer<unsigned> memory(device, 128);
  std::vector<unsigned> values(128);
  for (unsigned i = 0; i < 128; i++) values[i] = i;
  stream.copyIn(memory.data(), values.data(), memory.bytes());
  stream.launch("turnTwice", Shape{2, 64}, turnTwice, memory.data());
  stream.copyOut(values.data(), memory.data(), memory.bytes());
  stream.synchronize();
  for (unsigned i = 0; i < 128; i++) CHECK(values[i] == i + 1, "%u: %u", i, values[i]);
  stream.launch("uneven", Shape{1, 2}, uneven, memory.data());
  CHECK(codeOf([&] { stream.synchronize(); }) == PINION_INTERNAL, "a barrier that one thread misses");
}

TEST(software_warp) {
  Device device(0);
  Stream stream(device);
  Buffer<unsigned> memory(device, 64);
  std::vector<unsigned> values(64, 3);
  stream.copyIn(memory.data(), values.data(), memory.bytes());
  stream.launch("warpSums", Shape{1, 64}, warpSums, memory.data());
  stream.copyOut(values.data(), memory.data(), memory.bytes());
  stream.synchronize();
  for (unsigned x : values) CHECK(x == 96, "%u", x);
}

// Streams run only when somebody waits: what doesn't wait for an event doesn't see what comes before it.
TEST(software_streams) {
  Device device(0);
  Stream one(device), two(device);
  Event event(device);
  Buffer<unsigned> memory(device, 1);
  unsigned in = 7, early = 0, late = 0;
  one.clear(memory.data(), 4);
  one.synchronize();
  one.copyIn(memory.data(), &in, 4);
  one.record(event);
  two.copyOut(&early, memory.data(), 4);
  two.wait(event);
  two.copyOut(&late, memory.data(), 4);
  two.synchronize();
  CHECK(early == 0 && late == 7, "%u %u", early, late);
}

// What is secret is cleared before its memory goes back, after the work that is under way.
TEST(software_secrets) {
  Device device(0);
  Stream stream(device);
  {
    Buffer<unsigned> open(device, 64);
    Secret<unsigned> secret(device, 64);
    stream.fill(secret.data(), 7, secret.bytes());
    Secret<unsigned> moved(std::move(secret));
  }
  CHECK(device.dirty() == 1, "%lld", static_cast<long long>(device.dirty()));
}

TEST(software_failures) {
  Device device(0);
  Stream stream(device);
  device.arm(PINION_FAIL_ALLOCATION, 2);
  Buffer<unsigned> first(device, 64);
  CHECK(codeOf([&] { Buffer<unsigned> second(device, 64); }) == PINION_OUT_OF_MEMORY);
  CHECK(codeOf([&] { Buffer<unsigned> third(device, 64); }) == PINION_OK);
  device.arm(PINION_FAIL_LAUNCH, 1);
  CHECK(codeOf([&] { stream.launch("warpSums", Shape{1, 64}, warpSums, first.data()); }) == PINION_INTERNAL);
  CHECK(codeOf([&] { device.check(); }) == PINION_OK);
  device.arm(PINION_FAIL_STICKY, 1);
  CHECK(codeOf([&] { stream.launch("warpSums", Shape{1, 64}, warpSums, first.data()); stream.synchronize(); }) == PINION_FAULT);
  CHECK(codeOf([&] { device.check(); }) == PINION_FAULT);
  CHECK(codeOf([&] { Buffer<unsigned> more(device, 1); }) == PINION_FAULT);
}

// A barrier left out of the transform is noticed.
TEST(software_mutant_barriers) {
  CHECK(transformsRight(), "as it is");
  const std::string here = __FILE__, kernels = here.substr(0, here.rfind("test/")) + "ntt/kernels.h";
  for (const char *text : {"if (done) barrier();"}) {
    const int line = lineOf(kernels.c_str(), text);
    CHECK(line > 0, "%s isn't found in %s", text, kernels.c_str());
    software::omitBarrier("ntt/kernels.h", line);
    CHECK(!transformsRight(), "without %s", text);
    software::omitBarrier("", 0);
  }
}
#endif

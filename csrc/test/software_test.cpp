// The software device itself: barriers, warps, streams, and failures on demand.
#ifndef __CUDACC__
#include "../device/device.h"
#include "check.h"

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
#endif

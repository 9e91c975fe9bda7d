#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "../device/failure.h"
#include "host.h"

namespace pinion::host {

namespace {

std::mutex mutex;
std::map<void *, bool> known;  // whether it is the library's own

void add(void *memory, bool own) {
  std::lock_guard<std::mutex> guard(mutex);
  if (!known.insert({memory, own}).second) throw Failure(PINION_INVALID, "locking of pages: they are locked already");
}

void remove(void *memory, bool own, const char *what) {
  std::lock_guard<std::mutex> guard(mutex);
  auto found = known.find(memory);
  if (found == known.end() || found->second != own) throw Failure(PINION_INVALID, std::string(what) + ": no such memory");
  known.erase(found);
}

void check(int ordinal) {
  if (ordinal != 0) throw Failure(PINION_NO_DEVICE, "software device " + std::to_string(ordinal) + " of 1");
}

}  // namespace

void *allocate(int ordinal, size_t bytes) {
  check(ordinal);
  void *memory = nullptr;
  if (posix_memalign(&memory, 4096, bytes) != 0) throw Failure(PINION_OUT_OF_MEMORY, "pinned memory: " + std::to_string(bytes) + " bytes");
  add(memory, true);
  return memory;
}

void release(int ordinal, void *memory) {
  check(ordinal);
  remove(memory, true, "release of pinned memory");
  std::free(memory);
}

void lock(int ordinal, void *memory, size_t, bool) {
  check(ordinal);
  add(memory, false);
}

void unlock(int ordinal, void *memory) {
  check(ordinal);
  remove(memory, false, "unlocking of pages");
}

}  // namespace pinion::host

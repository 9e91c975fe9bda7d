// The seam over the software device: blocks one after the other, the threads of a block as fibers that change hands at barriers, and
// streams that do nothing until somebody waits for them, so that a wait that was forgotten shows. See device.h.
#pragma once

#include <chrono>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <set>
#include <mutex>
#include <vector>

#define PINION_KERNEL void
#define PINION_KERNEL_BOUNDS(threads, blocks) void
#define PINION_DEVICE inline
#define PINION_HD inline
#define PINION_SHARED static thread_local

namespace pinion {

namespace software {

// Place is where the running thread is.
struct Place {
  unsigned thread, threads, block, blocks, blockY, blocksY;
  unsigned char *shared;
};
extern thread_local Place place;

// run calls body once for each thread of the grid.
void run(const Shape &shape, const std::function<void()> &body);
// Source is the place of a call in the sources, for those who leave out a barrier or an exchange on trial.
struct Source {
  const char *file;
  int line;
};
// omit leaves out what is called in that line of a file whose name ends so: barriers that nobody waits in, and exchanges in which each
// lane keeps what it has. For tests of the tests. An empty name ends it.
void omit(const std::string &file, int line);
bool omitted(const Source &source);
// lastFirst has threads that wait for nothing go on in the other order: the last warp of a block goes ahead as far as it can.
void lastFirst(bool on);

// barrier waits for the other threads of the block.
void barrier();
// warpWait waits for the other lanes of the warp.
void warpWait();
// slot is one of two words for each lane of the running warp.
uint64_t *slots();

template <class T>
T exchange(T value, unsigned from, const Source &source);

}  // namespace software

inline unsigned threadIndex() { return software::place.thread; }
inline unsigned threadCount() { return software::place.threads; }
inline unsigned blockIndex() { return software::place.block; }
inline unsigned blockIndexY() { return software::place.blockY; }
inline unsigned blockCount() { return software::place.blocks; }
inline unsigned blockCountY() { return software::place.blocksY; }
inline size_t globalThread() { return size_t(blockIndex()) * threadCount() + threadIndex(); }
inline size_t globalThreads() { return size_t(blockCount()) * threadCount(); }
inline unsigned laneIndex() { return threadIndex() & 31; }

#define PINION_SOURCE const char *file = __builtin_FILE(), int line = __builtin_LINE()

inline void barrier(PINION_SOURCE) {
  if (!software::omitted({file, line})) software::barrier();
}
inline void warpBarrier(PINION_SOURCE) {
  if (!software::omitted({file, line})) software::warpWait();
}

template <class T>
T software::exchange(T value, unsigned from, const Source &source) {
  if (omitted(source)) return value;
  // The lanes' values stay where they are, on the stacks of their fibers, until all have read.
  uint64_t *words = slots();
  words[laneIndex()] = reinterpret_cast<uintptr_t>(&value);
  warpWait();
  const T taken = from < 32 ? *reinterpret_cast<const T *>(words[from]) : value;
  warpWait();
  value = taken;
  return value;
}
template <class T>
T shuffle(T value, unsigned lane, PINION_SOURCE) { return software::exchange(value, lane & 31, {file, line}); }
template <class T>
T shuffleDown(T value, unsigned by, PINION_SOURCE) { return software::exchange(value, laneIndex() + by < 32 ? laneIndex() + by : 32, {file, line}); }
template <class T>
T shuffleUp(T value, unsigned by, PINION_SOURCE) { return software::exchange(value, laneIndex() >= by ? laneIndex() - by : 32, {file, line}); }
template <class T>
T shuffleXor(T value, unsigned mask, PINION_SOURCE) { return software::exchange(value, laneIndex() ^ mask, {file, line}); }
unsigned ballot(bool vote, PINION_SOURCE);
#undef PINION_SOURCE
inline void prefetch(const void *) {}

template <class T>
T *dynamicShared() { return reinterpret_cast<T *>(software::place.shared); }

template <class T>
T atomicAdd(T *at, T value) { return __atomic_fetch_add(at, value, __ATOMIC_RELAXED); }
template <class T>
T atomicOr(T *at, T value) { return __atomic_fetch_or(at, value, __ATOMIC_RELAXED); }
template <class T>
T atomicExch(T *at, T value) { return __atomic_exchange_n(at, value, __ATOMIC_RELAXED); }
template <class T>
T atomicCAS(T *at, T expected, T value) {
  __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
template <class T>
T atomicMin(T *at, T value) {
  T old = *at;
  if (value < old) *at = value;
  return old;
}
template <class T>
T atomicMax(T *at, T value) {
  T old = *at;
  if (value > old) *at = value;
  return old;
}

class Stream;

class Device {
 public:
  static int count() { return 1; }
  explicit Device(int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  void describe(pinion_device_info *info);
  unsigned processors() const { return unsigned(settings_[PINION_PROCESSORS]); }
  void use() {}
  void check();
  bool lost() const;
  void lose(const std::string &fault);

  void *allocate(size_t bytes);
  // release and releasePinned let all streams come to their ends first, as cudaFree does: work under way may use the memory.
  void release(void *memory, size_t bytes) noexcept;
  // wipe clears memory; work under way comes to its end first.
  void wipe(void *memory, size_t bytes) noexcept;
  void *allocatePinned(size_t bytes);
  void releasePinned(void *memory, size_t bytes) noexcept;
  int64_t used() const;
  // dirty is how many allocations weren't all zero when they were released.
  int64_t dirty() const;
  // pinned tells the bytes of pinned memory that are taken, and the most since it was asked last.
  void pinned(int64_t &now, int64_t &most);
  // maxTables is the most tables of multiples of a base: they take long to make here.
  int maxTables() const { return 2; }
  // maxBatch is the most proofs at once that the library chooses: few, so that small tests have several parts.
  unsigned maxBatch() const { return 3; }
  // flip changes a bit in the middle of a result when the failure what is armed and due.
  void flip(int what, Stream &stream, void *result, size_t bytes);

  // maxPlan is the most bytes of entries of a plan: beyond that it is made in passes.
  size_t maxPlan() const { return settings_[PINION_PLAN] ? settings_[PINION_PLAN] : settings_[PINION_MEMORY] / 32; }
  // sparsePlan is how many entries a plan has for which it pays to leave out points at infinity.
  size_t sparsePlan() const { return settings_[PINION_SPARSE]; }

  // set changes a number of the device; see pinion_software_set.
  void set(int what, uint64_t value);

  // arm makes the n-th thing of that kind from now on fail; see pinion_software_fail.
  void arm(int what, uint64_t n);
  uint64_t happened(int what) const;
  // due counts a thing of that kind, and says whether it is the one to fail.
  bool due(int what);

 private:
  friend class Stream;
  friend class Event;
  using Lock = std::lock_guard<std::recursive_mutex>;
  struct Trap {
    uint64_t at = 0, count = 0;
  };
  int ordinal_;
  mutable std::recursive_mutex mutex_;  // of all below, and held while work is done
  int64_t used_ = 0, pinned_ = 0, mostPinned_ = 0, dirty_ = 0;
  bool lost_ = false;
  std::string fault_;
  Trap traps_[8];
  uint64_t settings_[5] = {0, uint64_t(4) << 30, 2, 0, uint64_t(1) << 21};
  std::set<Stream *> streams_;
  void settle() noexcept;
};

class Event {
 public:
  explicit Event(Device &device) : device_(device) {}
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  bool done();
  void synchronize();
  float since(const Event &earlier);

 private:
  friend class Stream;
  struct Mark {
    Stream *stream;
    bool done = false;
    std::chrono::steady_clock::time_point time;
  };
  Device &device_;
  std::shared_ptr<Mark> mark_;
};

class Stream {
 public:
  explicit Stream(Device &device);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  Device &device() const { return device_; }

  template <class... P, class... A>
  void launch(const char *name, Shape shape, void (*kernel)(P...), A... arguments) {
    static_assert(sizeof...(P) == sizeof...(A), "arguments of the kernel");
    enqueueLaunch(name, shape, [=] { kernel(static_cast<P>(arguments)...); });
  }
  // call enqueues work of the host on device memory: the twins of library calls.
  void call(const char *name, std::function<void()> work);
  void copyIn(void *to, const void *from, size_t bytes);
  void copyOut(void *to, const void *from, size_t bytes);
  void copy(void *to, const void *from, size_t bytes);
  void fill(void *memory, int byte, size_t bytes);
  void clear(void *memory, size_t bytes) { fill(memory, 0, bytes); }
  void record(Event &event);
  void wait(Event &event);
  void synchronize();

 private:
  friend class Event;
  friend class Device;
  void enqueueLaunch(const char *name, Shape shape, std::function<void()> body);
  void enqueueCopy(void *to, const void *from, size_t bytes);
  void step();
  void until(const Event::Mark &mark);
  Device &device_;
  std::deque<std::function<void()>> work_;
};

}  // namespace pinion

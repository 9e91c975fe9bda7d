#include "device.h"

#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#define PINION_FIBERS_WATCHED 1
#endif

namespace pinion {

namespace software {

thread_local Place place;

namespace {

constexpr size_t stackSize = 256 << 10;
constexpr unsigned lanes = 32;

thread_local std::string omittedFile;
thread_local int omittedLine;
thread_local bool backwards;

// Fiber is a stack that runs threads of a block, one after the other, as long as they come to their end without waiting.
struct Fiber {
  ucontext_t context;
  void *stack;
  Place place;
  bool waiting = false;  // in a barrier
  void *fake = nullptr;

  Fiber() {
    stack = mmap(nullptr, stackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) throw Failure(PINION_OUT_OF_MEMORY, "stack of a thread of the software device");
  }
  ~Fiber() { munmap(stack, stackSize); }
};

// Scheduler runs the blocks of one OS thread.
class Scheduler {
 public:
  void run(const Shape &shape, const std::function<void()> &body) {
    body_ = &body;
    shared_.assign((shape.shared + 15) / 16 * 2, 0);
    words_.assign((shape.threads + lanes - 1) / lanes * lanes, 0);
    for (unsigned y = 0; y < shape.blocksY; y++) {
      for (unsigned x = 0; x < shape.blocks; x++) block(shape, x, y);
    }
  }
  void barrier() { wait(block_); }
  void warpWait() {
    unsigned warp = place.thread / lanes;
    wait(warps_[warp]);
  }
  uint64_t *slots() { return words_.data() + place.thread / lanes * lanes; }

 private:
  // Meeting is a barrier: how many have to come, and who has.
  struct Meeting {
    unsigned members;
    std::vector<Fiber *> here;
  };

  void block(const Shape &shape, unsigned x, unsigned y) {
    first_ = Place{0, shape.threads, x, shape.blocks, y, shape.blocksY, reinterpret_cast<unsigned char *>(shared_.data())};
    next_ = 0;
    block_ = Meeting{shape.threads, {}};
    warps_.assign((shape.threads + lanes - 1) / lanes, Meeting{lanes, {}});
    if (shape.threads % lanes) warps_.back().members = shape.threads % lanes;
    size_t used = 0;
    while (next_ < shape.threads || !ready_.empty()) {
      Fiber *fiber;
      if (!ready_.empty() && backwards) {
        fiber = ready_.back();
        ready_.pop_back();
      } else if (!ready_.empty()) {
        fiber = ready_.front();
        ready_.pop_front();
      } else {
        if (used == fibers_.size()) fibers_.emplace_back(new Fiber);
        fiber = fibers_[used++].get();
        start(fiber);
      }
      resume(fiber);
    }
    // Threads that have ended don't come to a barrier any more: those that wait would wait for ever.
    if (!block_.here.empty()) throw Failure(PINION_INTERNAL, "software device: a barrier that not all threads reach");
    for (Meeting &warp : warps_) {
      if (!warp.here.empty()) throw Failure(PINION_INTERNAL, "software device: a warp barrier that not all lanes reach");
    }
  }

  void wait(Meeting &meeting) {
    Fiber *self = current_;
    meeting.here.push_back(self);
    if (meeting.here.size() == meeting.members) {
      for (Fiber *fiber : meeting.here) ready_.push_back(fiber);
      meeting.here.clear();
    }
    self->place = place;
    toScheduler(self);
    place = self->place;
  }

  static void entry() { scheduler().threads(); }

  // threads is the body of a fiber.
  void threads() {
#if PINION_FIBERS_WATCHED
    __sanitizer_finish_switch_fiber(nullptr, &mainStack_, &mainSize_);
#endif
    Fiber *self = current_;
    while (next_ < first_.threads) {
      place = first_;
      place.thread = next_++;
      (*body_)();
    }
    toScheduler(self, true);
  }

  void start(Fiber *fiber) {
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = fiber->stack;
    fiber->context.uc_stack.ss_size = stackSize;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, &Scheduler::entry, 0);
  }

  void resume(Fiber *fiber) {
    current_ = fiber;
#if PINION_FIBERS_WATCHED
    void *fake;
    __sanitizer_start_switch_fiber(&fake, fiber->stack, stackSize);
    swapcontext(&main_, &fiber->context);
    __sanitizer_finish_switch_fiber(fake, nullptr, nullptr);
#else
    swapcontext(&main_, &fiber->context);
#endif
  }

  void toScheduler(Fiber *self, bool last = false) {
#if PINION_FIBERS_WATCHED
    __sanitizer_start_switch_fiber(last ? nullptr : &self->fake, mainStack_, mainSize_);
    swapcontext(&self->context, &main_);
    __sanitizer_finish_switch_fiber(self->fake, &mainStack_, &mainSize_);
#else
    (void)last;
    swapcontext(&self->context, &main_);
#endif
  }

 public:
  static Scheduler &scheduler() {
    static thread_local Scheduler one;
    return one;
  }

 private:
  const std::function<void()> *body_ = nullptr;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::deque<Fiber *> ready_;
  std::vector<uint64_t> shared_, words_;
  Place first_{};
  unsigned next_ = 0;
  Meeting block_{};
  std::vector<Meeting> warps_;
  Fiber *current_ = nullptr;
  ucontext_t main_;
#if PINION_FIBERS_WATCHED
  const void *mainStack_ = nullptr;
  size_t mainSize_ = 0;
#endif
};

}  // namespace

void run(const Shape &shape, const std::function<void()> &body) { Scheduler::scheduler().run(shape, body); }

bool omitted(const Source &source) {
  if (omittedLine != source.line) return false;
  const std::string name(source.file);
  return name.size() >= omittedFile.size() && name.compare(name.size() - omittedFile.size(), omittedFile.size(), omittedFile) == 0;
}

void omit(const std::string &file, int line) {
  omittedFile = file;
  omittedLine = file.empty() ? 0 : line;
}

void lastFirst(bool on) { backwards = on; }

void barrier() { Scheduler::scheduler().barrier(); }
void warpWait() { Scheduler::scheduler().warpWait(); }
uint64_t *slots() { return Scheduler::scheduler().slots(); }

}  // namespace software

unsigned ballot(bool vote, const char *file, int line) {
  if (software::omitted({file, line})) return unsigned(vote) << laneIndex();
  uint64_t *words = software::slots();
  words[laneIndex()] = vote;
  software::warpWait();
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; i++) votes |= unsigned(words[i] & 1) << i;
  software::warpWait();
  return votes;
}

Device::Device(int ordinal) : ordinal_(ordinal) {
  if (ordinal != 0) throw Failure(PINION_NO_DEVICE, "software device " + std::to_string(ordinal) + " of 1");
}

Device::~Device() = default;

void Device::describe(pinion_device_info *info) {
  Lock lock(mutex_);
  *info = pinion_device_info{};
  std::strcpy(info->name, "software device");
  std::strcpy(info->kind, "software");
  info->memory = int64_t(settings_[PINION_MEMORY]);
  info->free = info->memory - used_;
  info->used = used_;
  info->ordinal = ordinal_;
  info->processors = int32_t(processors());
  info->overlap = 2;
}

bool Device::lost() const {
  Lock lock(mutex_);
  return lost_;
}

int64_t Device::dirty() const {
  Lock lock(mutex_);
  return dirty_;
}

int64_t Device::used() const {
  Lock lock(mutex_);
  return used_;
}

void Device::check() {
  Lock lock(mutex_);
  if (lost_) throw Failure(PINION_FAULT, fault_);
}

void Device::lose(const std::string &fault) {
  Lock lock(mutex_);
  if (!lost_) fault_ = fault;
  lost_ = true;
}

void *Device::allocate(size_t bytes) {
  Lock lock(mutex_);
  check();
  if (due(PINION_FAIL_ALLOCATION) || used_ + int64_t(bytes) > int64_t(settings_[PINION_MEMORY])) {
    throw Failure(PINION_OUT_OF_MEMORY, "device memory: " + std::to_string(bytes) + " bytes asked for, " + std::to_string(int64_t(settings_[PINION_MEMORY]) - used_) + " free");
  }
  void *memory = std::malloc(bytes);
  if (!memory) throw Failure(PINION_OUT_OF_MEMORY, "host memory for the software device: " + std::to_string(bytes) + " bytes");
  std::memset(memory, 0xa5, bytes);  // device memory isn't cleared
  used_ += int64_t(bytes);
  return memory;
}

void Device::settle() noexcept {
  for (Stream *stream : streams_) {
    try {
      while (!stream->work_.empty()) stream->step();
    } catch (const std::exception &e) {
      lose(e.what());
    }
  }
}

void Device::wipe(void *memory, size_t bytes) noexcept {
  Lock lock(mutex_);
  settle();
  std::memset(memory, 0, bytes);
}

void Device::set(int what, uint64_t value) {
  if (what < PINION_MEMORY || what > PINION_SPARSE || (what == PINION_PROCESSORS && value == 0)) {
    throw Failure(PINION_INVALID, "number " + std::to_string(what) + " of the device: " + std::to_string(value));
  }
  Lock lock(mutex_);
  settings_[what] = value;
}

void Device::release(void *memory, size_t bytes) noexcept {
  Lock lock(mutex_);
  settle();
  const unsigned char *byte = static_cast<const unsigned char *>(memory);
  if (std::any_of(byte, byte + bytes, [](unsigned char b) { return b != 0; })) dirty_++;
  used_ -= int64_t(bytes);
  std::free(memory);
}

void *Device::allocatePinned(size_t bytes) {
  check();
  void *memory = due(PINION_FAIL_PINNED_ALLOCATION) ? nullptr : std::malloc(bytes);
  if (!memory) throw Failure(PINION_OUT_OF_MEMORY, "pinned memory: " + std::to_string(bytes) + " bytes");
  Lock lock(mutex_);
  pinned_ += int64_t(bytes);
  mostPinned_ = std::max(mostPinned_, pinned_);
  return memory;
}

void Device::pinned(int64_t &now, int64_t &most) {
  Lock lock(mutex_);
  now = pinned_;
  most = mostPinned_;
  mostPinned_ = pinned_;
}

void Device::releasePinned(void *memory, size_t bytes) noexcept {
  Lock lock(mutex_);
  settle();
  pinned_ -= int64_t(bytes);
  std::free(memory);
}

void Device::arm(int what, uint64_t n) {
  if (what < 1 || what > 7) throw Failure(PINION_INVALID, "failure of kind " + std::to_string(what));
  Lock lock(mutex_);
  traps_[what] = Trap{n, 0};
}

uint64_t Device::happened(int what) const {
  if (what < 1 || what > 7) throw Failure(PINION_INVALID, "failure of kind " + std::to_string(what));
  Lock lock(mutex_);
  return traps_[what].count;
}

bool Device::due(int what) {
  Lock lock(mutex_);
  Trap &trap = traps_[what];
  return ++trap.count == trap.at;
}

void Device::flip(int what, Stream &stream, void *result, size_t bytes) {
  if (due(what)) stream.call("flip", [=] { static_cast<unsigned char *>(result)[bytes / 2] ^= 4; });
}

bool Event::done() {
  Device::Lock lock(device_.mutex_);
  if (mark_ && !mark_->done) mark_->stream->until(*mark_);
  device_.check();
  return true;
}

void Event::synchronize() { done(); }

float Event::since(const Event &earlier) {
  Device::Lock lock(device_.mutex_);
  if (!mark_ || !earlier.mark_) return 0;
  return std::chrono::duration<float, std::milli>(mark_->time - earlier.mark_->time).count();
}

Stream::Stream(Device &device) : device_(device) {
  Device::Lock lock(device_.mutex_);
  device_.streams_.insert(this);
}

Stream::~Stream() {
  Device::Lock lock(device_.mutex_);
  device_.streams_.erase(this);
}

void Stream::step() {
  auto work = std::move(work_.front());
  work_.pop_front();
  work();
}

void Stream::until(const Event::Mark &mark) {
  while (!mark.done && !work_.empty()) step();
}

void Stream::enqueueLaunch(const char *name, Shape shape, std::function<void()> body) {
  Device::Lock lock(device_.mutex_);
  device_.check();
  if (device_.due(PINION_FAIL_LAUNCH)) throw Failure(PINION_INTERNAL, std::string("launch of ") + name + ": invalid configuration");
  if (shape.blocks < 1 || shape.blocks > 0x7fffffffu || shape.blocksY < 1 || shape.blocksY > 65535 || shape.threads < 1 || shape.threads > 1024 || shape.shared > (227u << 10)) {
    throw Failure(PINION_INTERNAL, std::string("launch of ") + name + ": shape " + std::to_string(shape.blocks) + " x " + std::to_string(shape.blocksY) + " blocks of " + std::to_string(shape.threads) + " threads");
  }
  bool wild = device_.due(PINION_FAIL_STICKY);
  work_.push_back([this, name, shape, wild, body = std::move(body)] {
    if (device_.lost_) return;
    if (wild) return device_.lose(std::string(name) + ": an illegal memory access was encountered");
    software::run(shape, body);
  });
}

void Stream::call(const char *, std::function<void()> work) {
  Device::Lock lock(device_.mutex_);
  device_.check();
  work_.push_back([this, work = std::move(work)] {
    if (!device_.lost_) work();
  });
}

void Stream::enqueueCopy(void *to, const void *from, size_t bytes) {
  device_.check();
  if (device_.due(PINION_FAIL_COPY)) throw Failure(PINION_INTERNAL, "copy of " + std::to_string(bytes) + " bytes refused");
  if (bytes) call("copy", [=] { std::memcpy(to, from, bytes); });
}

void Stream::copyIn(void *to, const void *from, size_t bytes) { enqueueCopy(to, from, bytes); }
void Stream::copyOut(void *to, const void *from, size_t bytes) { enqueueCopy(to, from, bytes); }
void Stream::copy(void *to, const void *from, size_t bytes) { enqueueCopy(to, from, bytes); }

void Stream::fill(void *memory, int byte, size_t bytes) {
  if (bytes) call("fill", [=] { std::memset(memory, byte, bytes); });
}

void Stream::record(Event &event) {
  Device::Lock lock(device_.mutex_);
  device_.check();
  auto mark = std::make_shared<Event::Mark>();
  mark->stream = this;
  event.mark_ = mark;
  work_.push_back([mark] {
    mark->time = std::chrono::steady_clock::now();
    mark->done = true;
  });
}

void Stream::wait(Event &event) {
  Device::Lock lock(device_.mutex_);
  device_.check();
  auto mark = event.mark_;
  if (!mark || mark->stream == this) return;
  work_.push_back([mark] { mark->stream->until(*mark); });
}

// The lock is given away between steps, so that other threads may enqueue.
void Stream::synchronize() {
  for (;;) {
    Device::Lock lock(device_.mutex_);
    if (work_.empty()) break;
    step();
  }
  device_.check();
}

}  // namespace pinion

// The seam between the kernels and what runs them: CUDA under nvcc, the software device under any other compiler. Kernels and the
// host code around them are written once, against what this header declares.
//
// A kernel:
//
//   template <class F>
//   PINION_KERNEL scale(F *v, F factor, size_t n) {
//     PINION_SHARED F tile[256];
//     for (size_t i = globalThread(); i < n; i += globalThreads()) v[i] = v[i] * factor;
//     barrier();
//   }
//
//   stream.launch("scale", Shape{blocks, 256}, scale<F>, v, factor, n);
//
// In kernels: threadIndex, threadCount, blockIndex, blockIndexY, blockCount, blockCountY; barrier (all threads of a block reach the same
// one); dynamicShared<T>(), Shape::shared bytes; atomicAdd, atomicMin, atomicMax, atomicOr, atomicExch, atomicCAS on unsigned and
// unsigned long long; laneIndex; shuffle, shuffleDown, shuffleUp, shuffleXor, ballot, warpBarrier, by all 32 lanes of a warp; prefetch, of
// the 32 bytes at an address, which will be loaded soon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "failure.h"

namespace pinion {

// Shape is the grid of a launch: blocks x blocksY blocks of threads, each with shared bytes of dynamic shared memory.
struct Shape {
  unsigned blocks;
  unsigned threads;
  size_t shared = 0;
  unsigned blocksY = 1;
};

// blocksFor is how many blocks of threads cover n, at most limit: kernels stride by globalThreads().
inline unsigned blocksFor(size_t n, unsigned threads, unsigned limit = 1u << 20) {
  size_t blocks = (n + threads - 1) / threads;
  if (blocks > limit) blocks = limit;
  return blocks ? unsigned(blocks) : 1;
}

}  // namespace pinion

#ifdef __CUDACC__
#include "cuda.h"
#else
#include "software.h"
#endif

namespace pinion {

// Both devices have, with the same meaning:
//
//   class Device    count(), open by ordinal, info, allocate/release, wipe, allocatePinned/releasePinned, check() throws once it is lost
//   class Stream    launch, copyIn (host to device), copyOut, copy (device to device), fill, clear, record(Event), wait(Event), synchronize
//   class Event     done(), milliseconds since another event
//
// A Device is used by one thread at a time. Everything throws Failure.

// Buffer is device memory for n elements; it is given back when the buffer goes. The stream's work on it must be done by then.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device &device, size_t n) : device_(&device), data_(n ? static_cast<T *>(device.allocate(n * sizeof(T))) : nullptr), size_(n) {}
  Buffer(Buffer &&other) noexcept { swap(other); }
  Buffer &operator=(Buffer &&other) noexcept {
    Buffer taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Buffer() {
    if (data_) device_->release(data_, size_ * sizeof(T));
  }
  T *data() const { return data_; }
  size_t size() const { return size_; }
  size_t bytes() const { return size_ * sizeof(T); }

 private:
  void swap(Buffer &other) {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device *device_ = nullptr;
  T *data_ = nullptr;
  size_t size_ = 0;
};

// Secret is a Buffer whose content nobody is to find in it afterwards.
template <class T>
class Secret : public Buffer<T> {
 public:
  Secret() = default;
  Secret(Device &device, size_t n) : Buffer<T>(device, n), device_(&device) {}
  Secret(Secret &&) = default;
  ~Secret() {
    if (this->data()) device_->wipe(this->data(), this->bytes());
  }

 private:
  Device *device_ = nullptr;
};

// Pinned is page-locked host memory for n elements, not initialised. It is cleared when it goes: it may have been part of a witness.
template <class T>
class Pinned {
 public:
  Pinned() = default;
  Pinned(Device &device, size_t n) : device_(&device), data_(n ? static_cast<T *>(device.allocatePinned(n * sizeof(T))) : nullptr), size_(n) {}
  Pinned(Pinned &&other) noexcept { swap(other); }
  Pinned &operator=(Pinned &&other) noexcept {
    Pinned taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Pinned() {
    if (!data_) return;
    explicit_bzero(static_cast<void *>(data_), size_ * sizeof(T));
    device_->releasePinned(data_, size_ * sizeof(T));
  }
  T *data() const { return data_; }
  size_t size() const { return size_; }
  T &operator[](size_t i) const { return data_[i]; }

 private:
  void swap(Pinned &other) {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  Device *device_ = nullptr;
  T *data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace pinion

// The seam over the CUDA runtime. See device.h.
#pragma once

#include <cuda_runtime.h>

#include <atomic>
#include <mutex>
#include <tuple>

#define PINION_KERNEL __global__ void
#define PINION_KERNEL_BOUNDS(threads, blocks) __global__ void __launch_bounds__(threads, blocks)
#define PINION_DEVICE __device__ __forceinline__
#define PINION_HD __host__ __device__ __forceinline__
#define PINION_SHARED __shared__

namespace pinion {

__device__ __forceinline__ unsigned threadIndex() { return threadIdx.x; }
__device__ __forceinline__ unsigned threadCount() { return blockDim.x; }
__device__ __forceinline__ unsigned blockIndex() { return blockIdx.x; }
__device__ __forceinline__ unsigned blockIndexY() { return blockIdx.y; }
__device__ __forceinline__ unsigned blockCount() { return gridDim.x; }
__device__ __forceinline__ unsigned blockCountY() { return gridDim.y; }
__device__ __forceinline__ size_t globalThread() { return size_t(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ __forceinline__ size_t globalThreads() { return size_t(gridDim.x) * blockDim.x; }
__device__ __forceinline__ unsigned laneIndex() { return threadIdx.x & 31; }
__device__ __forceinline__ void barrier() { __syncthreads(); }
__device__ __forceinline__ void warpBarrier() { __syncwarp(); }
__device__ __forceinline__ void prefetch(const void *p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
__device__ __forceinline__ unsigned ballot(bool vote) { return __ballot_sync(0xffffffffu, vote); }
template <class T>
__device__ __forceinline__ T shuffle(T value, unsigned lane) { return __shfl_sync(0xffffffffu, value, lane); }
template <class T>
__device__ __forceinline__ T shuffleDown(T value, unsigned by) { return __shfl_down_sync(0xffffffffu, value, by); }
template <class T>
__device__ __forceinline__ T shuffleUp(T value, unsigned by) { return __shfl_up_sync(0xffffffffu, value, by); }
template <class T>
__device__ __forceinline__ T shuffleXor(T value, unsigned mask) { return __shfl_xor_sync(0xffffffffu, value, mask); }

template <class T>
__device__ __forceinline__ T *dynamicShared() {
  extern __shared__ __align__(16) unsigned char pinionSharedMemory[];
  return reinterpret_cast<T *>(pinionSharedMemory);
}

class Device {
 public:
  static int count();
  explicit Device(int ordinal);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  void describe(pinion_device_info *info);
  unsigned processors() const { return processors_; }
  // use makes the device the calling thread's. Every entry to the library calls it.
  void use();
  // check throws PINION_FAULT once the device is lost.
  void check();
  bool lost() const;
  // fail turns an error of the runtime into a Failure, and finds out whether the device is lost.
  [[noreturn]] void fail(cudaError_t error, const char *what);
  void must(cudaError_t error, const char *what) {
    if (error != cudaSuccess) fail(error, what);
  }

  void *allocate(size_t bytes);
  void release(void *memory, size_t bytes) noexcept;
  // wipe clears memory and waits for that.
  void wipe(void *memory, size_t bytes) noexcept;
  void *allocatePinned(size_t bytes);
  void releasePinned(void *memory, size_t bytes) noexcept;
  int64_t used() const { return used_; }
  int maxTables() const { return 32; }
  unsigned maxBatch() const { return 64; }
  // maxPlan is the most bytes of entries of a plan: beyond that it is made in passes.
  size_t maxPlan() const { return memory_ / 32; }
  // sparsePlan is how many entries a plan has for which it pays to leave out points at infinity.
  size_t sparsePlan() const { return size_t(1) << 21; }
  // flip is where the software device falsifies results of what (PINION_FLIP_NTT, PINION_FLIP_MSM).
  void flip(int, class Stream &, void *, size_t) {}

 private:
  int ordinal_;
  unsigned processors_ = 0;
  size_t memory_ = 0;
  std::atomic<int64_t> used_{0};
  mutable std::mutex mutex_;  // of what is below
  bool lost_ = false;
  std::string fault_;
};

class Event {
 public:
  explicit Event(Device &device);
  ~Event();
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;
  // done is whether the work before the last record is done; true when there was none.
  bool done();
  void synchronize();
  // milliseconds from an earlier event to this one, both done.
  float since(const Event &earlier);
  cudaEvent_t handle() const { return event_; }

 private:
  Device &device_;
  cudaEvent_t event_ = nullptr;
};

class Stream {
 public:
  explicit Stream(Device &device);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  Device &device() const { return device_; }
  cudaStream_t handle() const { return stream_; }

  template <class... P, class... A>
  void launch(const char *name, Shape shape, void (*kernel)(P...), A... arguments) {
    static_assert(sizeof...(P) == sizeof...(A), "arguments of the kernel");
    std::tuple<P...> values(static_cast<P>(arguments)...);
    std::apply([&](auto &...value) {
      void *pointers[] = {const_cast<void *>(static_cast<const void *>(&value))...};
      enqueue(name, shape, reinterpret_cast<const void *>(kernel), pointers);
    }, values);
  }
  void copyIn(void *to, const void *from, size_t bytes);
  void copyOut(void *to, const void *from, size_t bytes);
  void copy(void *to, const void *from, size_t bytes);
  void fill(void *memory, int byte, size_t bytes);
  void clear(void *memory, size_t bytes) { fill(memory, 0, bytes); }
  void record(Event &event);
  void wait(Event &event);
  void synchronize();

 private:
  void enqueue(const char *name, Shape shape, const void *kernel, void **arguments);
  Device &device_;
  cudaStream_t stream_ = nullptr;
};

}  // namespace pinion

#include "device.h"

#include <chrono>
#include <cstring>

namespace pinion {

namespace {

// pinnedFlags: page-locked for every device, at an address that devices know too.
constexpr unsigned pinnedFlags = cudaHostAllocPortable;

std::string text(cudaError_t error) { return std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error); }

}  // namespace

int Device::count() {
  int n = 0;
  cudaError_t error = cudaGetDeviceCount(&n);
  if (error == cudaErrorNoDevice) return 0;
  if (error != cudaSuccess) throw Failure(PINION_NO_DEVICE, text(error));
  return n;
}

Device::Device(int ordinal) : ordinal_(ordinal) {
  int n = count();
  if (ordinal < 0 || ordinal >= n) throw Failure(PINION_NO_DEVICE, "CUDA device " + std::to_string(ordinal) + " of " + std::to_string(n));
  use();
  // Waiting threads sleep: cores belong to the service.
  cudaError_t flags = cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  if (flags != cudaSuccess && flags != cudaErrorSetOnActiveProcess) fail(flags, "device flags");
  cudaDeviceProp properties;
  must(cudaGetDeviceProperties(&properties, ordinal), "device properties");
  processors_ = unsigned(properties.multiProcessorCount);
  memory_ = properties.totalGlobalMem;
  must(cudaFree(nullptr), "context of the device");
}

Device::~Device() = default;

void Device::use() { must(cudaSetDevice(ordinal_), "choice of the device"); }

void Device::describe(pinion_device_info *info) {
  cudaDeviceProp properties;
  must(cudaGetDeviceProperties(&properties, ordinal_), "device properties");
  size_t free = 0, total = 0;
  must(cudaMemGetInfo(&free, &total), "memory of the device");
  *info = pinion_device_info{};
  std::snprintf(info->name, sizeof info->name, "%s", properties.name);
  std::strcpy(info->kind, "cuda");
  info->memory = int64_t(total);
  info->free = int64_t(free);
  info->used = used_;
  info->ordinal = ordinal_;
  info->processors = properties.multiProcessorCount;
  info->capability = properties.major * 10 + properties.minor;
  info->overlap = 2;
}

bool Device::lost() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return lost_;
}

// A query of any stream answers with the error of a lost context.
void Device::check() {
  cudaError_t error = cudaStreamQuery(cudaStreamPerThread);
  if (lost() || (error != cudaSuccess && error != cudaErrorNotReady)) fail(error, "device");
  cudaGetLastError();
}

void Device::fail(cudaError_t error, const char *what) {
  std::string message = std::string(what) + ": " + text(error);
  cudaGetLastError();
  if (error == cudaErrorMemoryAllocation) throw Failure(PINION_OUT_OF_MEMORY, message);
  if (error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver || error == cudaErrorInvalidDevice) throw Failure(PINION_NO_DEVICE, message);
  // An error that is still there when it has been taken is sticky: the context is gone.
  cudaError_t again = cudaStreamQuery(cudaStreamPerThread);
  std::lock_guard<std::mutex> lock(mutex_);
  if (!lost_ && again != cudaSuccess && again != cudaErrorNotReady) {
    lost_ = true;
    fault_ = message;
  }
  if (lost_) throw Failure(PINION_FAULT, fault_);
  throw Failure(PINION_INTERNAL, message);
}

void *Device::allocate(size_t bytes) {
  void *memory = nullptr;
  cudaError_t error = cudaMalloc(&memory, bytes);
  if (error != cudaSuccess) fail(error, ("device memory, " + std::to_string(bytes) + " bytes").c_str());
  used_ += int64_t(bytes);
  return memory;
}

// A release can only fail when the device is lost, which the next check finds.
void Device::release(void *memory, size_t bytes) noexcept {
  cudaFree(memory);
  used_ -= int64_t(bytes);
}

void Device::wipe(void *memory, size_t bytes) noexcept {
  cudaMemset(memory, 0, bytes);
  cudaStreamSynchronize(nullptr);
  cudaGetLastError();
}

void *Device::allocatePinned(size_t bytes) {
  void *memory = nullptr;
  cudaError_t error = cudaHostAlloc(&memory, bytes, pinnedFlags);
  if (error != cudaSuccess) fail(error, ("pinned memory, " + std::to_string(bytes) + " bytes").c_str());
  return memory;
}

void Device::releasePinned(void *memory, size_t) noexcept { cudaFreeHost(memory); }

// Waiting threads sleep here too.
Event::Event(Device &device) : device_(device) { device_.must(cudaEventCreateWithFlags(&event_, cudaEventBlockingSync), "event"); }
Event::~Event() { cudaEventDestroy(event_); }

bool Event::done() {
  cudaError_t error = cudaEventQuery(event_);
  if (error == cudaErrorNotReady) {
    cudaGetLastError();
    return false;
  }
  device_.must(error, "query of an event");
  return true;
}

// A short wait is shorter than falling asleep and waking up.
void Event::synchronize() {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::microseconds(50);
  while (!done()) {
    if (std::chrono::steady_clock::now() < patience) continue;
    device_.must(cudaEventSynchronize(event_), "wait for an event");
    return;
  }
}

float Event::since(const Event &earlier) {
  float milliseconds = 0;
  device_.must(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "time between events");
  return milliseconds;
}

Stream::Stream(Device &device) : device_(device) {
  device_.must(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream");
}
Stream::~Stream() { cudaStreamDestroy(stream_); }

void Stream::enqueue(const char *name, Shape shape, const void *kernel, void **arguments) {
  if (shape.shared > (48u << 10)) {
    device_.must(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shape.shared)), name);
  }
  device_.must(cudaLaunchKernel(kernel, dim3(shape.blocks, shape.blocksY), dim3(shape.threads), arguments, shape.shared, stream_), name);
}

void Stream::copyIn(void *to, const void *from, size_t bytes) {
  if (bytes) device_.must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_), "copy to the device");
}
void Stream::copyOut(void *to, const void *from, size_t bytes) {
  if (bytes) device_.must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_), "copy from the device");
}
void Stream::copy(void *to, const void *from, size_t bytes) {
  if (bytes) device_.must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_), "copy on the device");
}
void Stream::fill(void *memory, int byte, size_t bytes) {
  if (bytes) device_.must(cudaMemsetAsync(memory, byte, bytes, stream_), "filling of device memory");
}
void Stream::record(Event &event) { device_.must(cudaEventRecord(event.handle(), stream_), "record of an event"); }
void Stream::wait(Event &event) { device_.must(cudaStreamWaitEvent(stream_, event.handle(), 0), "wait for an event"); }
void Stream::synchronize() { device_.must(cudaStreamSynchronize(stream_), "wait for the device"); }

}  // namespace pinion

#include <cuda_runtime.h>

#include <string>

#include "../device/failure.h"
#include "host.h"

namespace pinion::host {

namespace {

void must(cudaError_t error, const char *what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();
  const std::string message = std::string(what) + ": " + cudaGetErrorString(error);
  if (error == cudaErrorMemoryAllocation) throw Failure(PINION_OUT_OF_MEMORY, message);
  if (error == cudaErrorInvalidDevice || error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver) throw Failure(PINION_NO_DEVICE, message);
  if (error == cudaErrorInvalidValue || error == cudaErrorHostMemoryAlreadyRegistered || error == cudaErrorHostMemoryNotRegistered) throw Failure(PINION_INVALID, message);
  throw Failure(PINION_INTERNAL, message);
}

}  // namespace

void *allocate(int ordinal, size_t bytes) {
  must(cudaSetDevice(ordinal), "choice of the device");
  void *memory = nullptr;
  must(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "pinned memory");
  return memory;
}

void release(int ordinal, void *memory) {
  must(cudaSetDevice(ordinal), "choice of the device");
  must(cudaFreeHost(memory), "release of pinned memory");
}

void lock(int ordinal, void *memory, size_t bytes, bool readOnly) {
  must(cudaSetDevice(ordinal), "choice of the device");
  must(cudaHostRegister(memory, bytes, cudaHostRegisterPortable | (readOnly ? cudaHostRegisterReadOnly : 0)), "locking of pages");
}

void unlock(int ordinal, void *memory) {
  must(cudaSetDevice(ordinal), "choice of the device");
  must(cudaHostUnregister(memory), "unlocking of pages");
}

}  // namespace pinion::host

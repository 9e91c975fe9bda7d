// Page-locked host memory for the caller. The ordinal names the device whose context the driver is asked in.
#pragma once

#include <cstddef>

namespace pinion::host {

void *allocate(int ordinal, size_t bytes);
void release(int ordinal, void *memory);
void lock(int ordinal, void *memory, size_t bytes, bool readOnly);
void unlock(int ordinal, void *memory);

}  // namespace pinion::host

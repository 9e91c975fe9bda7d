// Measurements of what provers do, one thing at a time, on inputs that are made on the device.
#pragma once

#include "../device/device.h"

namespace pinion {

// measure makes the inputs of a case, times it, and fills in the result. It throws Failure.
void measure(Device &device, const pinion_bench_case &what, pinion_bench_result &result);

// The same on one curve. They are in the object files of the curves' provers, which have the kernels already.
void measureBn254(Device &device, const pinion_bench_case &what, pinion_bench_result &result);
void measureBls12381(Device &device, const pinion_bench_case &what, pinion_bench_result &result);

}  // namespace pinion

// The provers of the two curves, a source file each.
#pragma once

#include "circuit.h"

namespace pinion {

pinion_footprint footprintBn254(Device &device, const pinion_key &key);
pinion_footprint footprintBls12381(Device &device, const pinion_key &key);
std::unique_ptr<Circuit> loadBn254(Device &device, const pinion_key &key);
std::unique_ptr<Circuit> loadBls12381(Device &device, const pinion_key &key);

}  // namespace pinion

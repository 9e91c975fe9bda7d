#include "curves.h"
#include "prover.h"

namespace pinion {

pinion_footprint footprintBn254(Device &device, const pinion_key &key) { return Prover<Bn254>::footprint(device, key); }
std::unique_ptr<Circuit> loadBn254(Device &device, const pinion_key &key) { return std::unique_ptr<Circuit>(new Prover<Bn254>(device, key)); }

}  // namespace pinion

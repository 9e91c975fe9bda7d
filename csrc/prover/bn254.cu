#include "../bench/measure.h"
#include "curves.h"
#include "prover.h"

namespace pinion {

pinion_footprint footprintBn254(Device &device, const pinion_key &key) { return Prover<Bn254>::footprint(device, key); }
std::unique_ptr<Circuit> loadBn254(Device &device, const pinion_key &key) { return std::unique_ptr<Circuit>(new Prover<Bn254>(device, key)); }
void measureBn254(Device &device, const pinion_bench_case &what, pinion_bench_result &result) { Measurement<Bn254>(device, what, result).make(); }

}  // namespace pinion

#include "../bench/measure.h"
#include "curves.h"
#include "prover.h"

namespace pinion {

pinion_footprint footprintBls12381(Device &device, const pinion_key &key) { return Prover<Bls12381>::footprint(device, key); }
std::unique_ptr<Circuit> loadBls12381(Device &device, const pinion_key &key) { return std::unique_ptr<Circuit>(new Prover<Bls12381>(device, key)); }
void measureBls12381(Device &device, const pinion_bench_case &what, pinion_bench_result &result) { Measurement<Bls12381>(device, what, result).make(); }

}  // namespace pinion

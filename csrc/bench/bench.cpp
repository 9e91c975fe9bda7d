#include "bench.h"

namespace pinion {

namespace {

constexpr uint32_t maxRepetitions = 1000, thousand = 1000;

void require(bool good, const std::string &what, uint64_t found) {
  if (!good) throw Failure(PINION_INVALID, "measurement: " + what + ", found " + std::to_string(found));
}

}  // namespace

void measure(Device &device, const pinion_bench_case &what, pinion_bench_result &result) {
  require(what.kind >= PINION_BENCH_MULTIPLICATIONS && what.kind <= PINION_BENCH_QUOTIENT, "a known kind expected", what.kind);
  require(what.curve == PINION_BN254 || what.curve == PINION_BLS12_381, "a known curve expected", what.curve);
  const bool ofPoints = what.kind == PINION_BENCH_ADDITIONS || what.kind == PINION_BENCH_MSM;
  require(!ofPoints || what.group == 1 || what.group == 2, "group 1 or 2 expected", what.group);
  const bool bare = what.kind == PINION_BENCH_MULTIPLICATIONS || what.kind == PINION_BENCH_ADDITIONS;
  const uint32_t most = bare ? 40 : 27;
  require(what.log_size >= 1 && what.log_size <= most, "a logarithm of the size from 1 to " + std::to_string(most) + " expected", what.log_size);
  require(what.sparse <= thousand, "a share of at most 1000 expected", what.sparse);
  require(what.repetitions >= 1 && what.repetitions <= maxRepetitions, "1 to 1000 repetitions expected", what.repetitions);
  (what.curve == PINION_BN254 ? measureBn254 : measureBls12381)(device, what, result);
}

}  // namespace pinion

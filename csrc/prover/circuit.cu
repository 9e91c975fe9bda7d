#include "circuit.h"

#include <string>

#include "curves.h"

namespace pinion {

namespace {

constexpr uint64_t maxDomain = uint64_t(1) << 27;
constexpr uint64_t maxIndex = uint64_t(1) << 31;

void require(bool good, const char *what, uint64_t found) {
  if (!good) throw Failure(PINION_INVALID, std::string("key: ") + what + ", found " + std::to_string(found));
}

void checkNumbers(const pinion_key &key) {
  require(key.curve == PINION_BN254 || key.curve == PINION_BLS12_381, "a known curve expected", key.curve);
  require(key.quotient == PINION_ODD_COSET || key.quotient == PINION_POWERS, "a known form of the quotient expected", key.quotient);
  require(key.exponents <= 1, "points or exponents, 0 or 1, expected", key.exponents);
  require(key.domain >= 2 && key.domain <= maxDomain && (key.domain & (key.domain - 1)) == 0, "a domain of a power of two from 2 to 2^27 expected", key.domain);
  require(key.rows <= key.domain, "at most as many rows as the domain expected", key.rows);
  require(key.vars >= 1 && key.vars < maxIndex - 2, "1 to 2^31-3 wires expected", key.vars);
  require(key.public_wires < key.vars, "fewer public wires than wires expected", key.public_wires);
  require(key.a.entries < maxIndex && key.b.entries < maxIndex, "fewer than 2^31 entries expected", key.a.entries > key.b.entries ? key.a.entries : key.b.entries);
  require(key.coefficients >= 2 && key.coefficients < maxIndex, "2 or more coefficients expected", key.coefficients);
}

void checkPointers(const pinion_key &key) {
  const void *always[] = {key.alpha1, key.beta1, key.delta1, key.beta2, key.delta2, key.points_a, key.points_b1, key.points_b2, key.points_h, key.a.starts, key.b.starts, key.coefficient};
  for (const void *pointer : always) require(pointer != nullptr, "a part of the key is missing", 0);
  require(key.points_c || key.vars == key.public_wires + 1, "points of C expected", 0);
  for (const pinion_matrix *m : {&key.a, &key.b}) require(m->entries == 0 || (m->columns && m->values), "columns and values expected", 0);
}

}  // namespace

Marks::Marks(Device &device) {
  for (auto &event : events) event.reset(new Event(device));
}

pinion_footprint footprintOf(Device &device, const pinion_key &key) {
  checkNumbers(key);
  return key.curve == PINION_BN254 ? footprintBn254(device, key) : footprintBls12381(device, key);
}

std::unique_ptr<Circuit> load(Device &device, const pinion_key &key) {
  checkNumbers(key);
  checkPointers(key);
  return key.curve == PINION_BN254 ? loadBn254(device, key) : loadBls12381(device, key);
}

}  // namespace pinion

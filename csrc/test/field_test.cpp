// Arithmetic of the fields: on every two of the numbers whose words make carries go far.
#include "../device/device.h"
#include "../field/fp2.h"
#include "check.h"
#include "vectors.h"

using namespace pinion;

namespace {

// operations are those that the prime fields and their extensions have.
template <class F>
void operations(const std::string &name) {
  const auto x = Vectors::get<F>(name), negatives = Vectors::get<F>(name + " negatives"), doubles = Vectors::get<F>(name + " doubles"),
             squares = Vectors::get<F>(name + " squares");
  for (size_t i = 0; i < x.size(); i++) {
    CHECK(-x[i] == negatives[i], "%s, %zu", name.c_str(), i);
    CHECK(x[i].doubled() == doubles[i], "%s, %zu", name.c_str(), i);
    CHECK(x[i].squared() == squares[i], "%s, %zu", name.c_str(), i);
    CHECK(x[i].isZero() == (x[i] == F::zero()) && F::one() * x[i] == x[i], "%s, %zu", name.c_str(), i);
  }
  const auto sums = Vectors::get<F>(name + " sums"), differences = Vectors::get<F>(name + " differences"),
             products = Vectors::get<F>(name + " products");
  for (size_t i = 0, k = 0; i < x.size(); i++) {
    for (size_t j = 0; j < x.size(); j++, k++) {
      CHECK(x[i] + x[j] == sums[k], "%s, %zu and %zu", name.c_str(), i, j);
      CHECK(x[i] - x[j] == differences[k], "%s, %zu and %zu", name.c_str(), i, j);
      CHECK(x[i] * x[j] == products[k], "%s, %zu and %zu", name.c_str(), i, j);
    }
  }
}

template <class F>
void inverses(const std::string &name) {
  const auto x = Vectors::get<F>(name), want = Vectors::get<F>(name + " inverses");
  for (size_t i = 0; i < x.size(); i++) CHECK(x[i].inverse() == want[i], "%s, %zu", name.c_str(), i);
}

// combinations are sums of products, of fields with room for them above the modulus.
template <class F>
void combinations(const std::string &name) {
  const auto fours = Vectors::get<F>(name + " fours"), want = Vectors::get<F>(name + " combinations");
  for (size_t k = 0; k < want.size(); k++) {
    const F *f = &fours[4 * k];
    CHECK(F::combine(f[0], f[1], f[2], f[3]) == want[k], "%s, %zu", name.c_str(), k);
  }
}

template <class F>
void dots(const std::string &name) {
  const auto factors = Vectors::get<F>(name + " factors"), want = Vectors::get<F>(name + " dots");
  for (size_t k = 0; k < want.size(); k++) {
    const F *a = &factors[4 * k], *b = a + 4;
    CHECK(F::template dot<4>({a[0], a[1], a[2], a[3]}, {b[0], b[1], b[2], b[3]}) == want[k], "%s, %zu", name.c_str(), k);
  }
}

// wideFactors are second factors that are not less than the modulus, of the fields that take any.
template <class F>
void wideFactors(const std::string &name) {
  const auto x = Vectors::get<F>(name), products = Vectors::get<F>(name + " products");
  for (size_t i = 0, k = 0; i < x.size(); i++) {
    for (size_t j = 0; j < x.size(); j++, k++) {
      CHECK(x[i] * x[j].looseSum(F::modulus()) == products[k], "%s, %zu and %zu", name.c_str(), i, j);
    }
  }
  F greatest, unit = F::zero();
  for (uint32_t &word : greatest.w) word = 0xffffffffu;
  unit.w[0] = 1;
  CHECK(F::fromInteger(greatest) + F::fromInteger(unit) == F::fromInteger(F::one()), "%s, 2^%d - 1", name.c_str(), 32 * F::words);
}

template <class F>
void prime(const std::string &name) {
  operations<F>(name);
  const auto x = Vectors::get<F>(name), integers = Vectors::get<F>(name + " integers"), powers = Vectors::get<F>(name + " powers");
  const auto exponents = Vectors::get<uint64_t>(name + " exponents");
  for (size_t i = 0; i < x.size(); i++) {
    CHECK(x[i].toInteger() == integers[i] && F::fromInteger(integers[i]) == x[i], "%s, %zu", name.c_str(), i);
    CHECK(x[i].power(exponents[i]) == powers[i], "%s, %zu", name.c_str(), i);
  }
  const auto numbers = Vectors::get<F>(name + " ranges integers");
  const auto below = Vectors::get<unsigned char>(name + " ranges");
  for (size_t i = 0; i < numbers.size(); i++) CHECK(numbers[i].inRange() == (below[i] != 0), "%s, %zu", name.c_str(), i);
}

// Results is what a thread of arithmetic computes.
template <class F>
struct Results {
  F negative, doubled, squared, sum, difference, product;
};

template <class F>
PINION_KERNEL arithmetic(const F *x, uint32_t n, Results<F> *results) {
  const size_t k = globalThread();
  if (k >= size_t(n) * n) return;
  const F a = x[k / n], b = x[k % n];
  results[k] = {-a, a.doubled(), a.squared(), a + b, a - b, a * b};
}

// onDevice has a thread for every two of the numbers.
template <class F>
void onDevice(const std::string &name) {
  const auto x = Vectors::get<F>(name), negatives = Vectors::get<F>(name + " negatives"), doubles = Vectors::get<F>(name + " doubles"),
             squares = Vectors::get<F>(name + " squares"), sums = Vectors::get<F>(name + " sums"),
             differences = Vectors::get<F>(name + " differences"), products = Vectors::get<F>(name + " products");
  const uint32_t n = uint32_t(x.size());
  Device device(0);
  Stream stream(device);
  Buffer<F> numbers(device, n);
  Buffer<Results<F>> results(device, products.size());
  stream.copyIn(numbers.data(), x.data(), numbers.bytes());
  stream.launch("arithmetic", Shape{blocksFor(products.size(), 64), 64}, arithmetic<F>, static_cast<const F *>(numbers.data()), n, results.data());
  std::vector<Results<F>> got(products.size());
  stream.copyOut(got.data(), results.data(), results.bytes());
  stream.synchronize();
  for (size_t k = 0; k < got.size(); k++) {
    const size_t i = k / n;
    CHECK(got[k].negative == negatives[i] && got[k].doubled == doubles[i] && got[k].squared == squares[i], "%s, %zu", name.c_str(), i);
    CHECK(got[k].sum == sums[k] && got[k].difference == differences[k] && got[k].product == products[k], "%s, %zu and %zu", name.c_str(), i, k % n);
  }
}

}  // namespace

TEST(field_bn254_r) {
  prime<Bn254Fr>("bn254 r");
  combinations<Bn254Fr>("bn254 r");
  dots<Bn254Fr>("bn254 r");
  wideFactors<Bn254Fr>("bn254 r");
}

TEST(field_bn254_q) {
  prime<Bn254Fq>("bn254 q");
  combinations<Bn254Fq>("bn254 q");
  dots<Bn254Fq>("bn254 q");
}

TEST(field_bls12381_r) {
  prime<Bls12381Fr>("bls12381 r");
  wideFactors<Bls12381Fr>("bls12381 r");
}

TEST(field_bls12381_q) {
  prime<Bls12381Fq>("bls12381 q");
  combinations<Bls12381Fq>("bls12381 q");
  dots<Bls12381Fq>("bls12381 q");
}

TEST(field_bn254_q2) {
  operations<Fp2<Bn254Fq>>("bn254 q2");
  combinations<Fp2<Bn254Fq>>("bn254 q2");
}

TEST(field_bls12381_q2) {
  operations<Fp2<Bls12381Fq>>("bls12381 q2");
  combinations<Fp2<Bls12381Fq>>("bls12381 q2");
}

// Apart from the others: a mutant may never come to the end of one.
TEST(inverse) {
  inverses<Bn254Fr>("bn254 r");
  inverses<Bn254Fq>("bn254 q");
  inverses<Bls12381Fr>("bls12381 r");
  inverses<Bls12381Fq>("bls12381 q");
  inverses<Fp2<Bn254Fq>>("bn254 q2");
  inverses<Fp2<Bls12381Fq>>("bls12381 q2");
}

// The fields above are computed with by the host, and here by the device: on a card that is other code.
TEST(arithmetic_of_the_device) {
  onDevice<Bn254Fr>("bn254 r");
  onDevice<Bn254Fq>("bn254 q");
  onDevice<Bls12381Fr>("bls12381 r");
  onDevice<Bls12381Fq>("bls12381 q");
  onDevice<Fp2<Bn254Fq>>("bn254 q2");
  onDevice<Fp2<Bls12381Fq>>("bls12381 q2");
}

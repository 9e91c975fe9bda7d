// The steps of a proof before its sums, each against a few lines of the obvious.
#include "../prover/matrix.h"
#include "../prover/quotient.h"
#include "../prover/witness.h"
#include "check.h"
#include "random.h"

#include <vector>

using namespace pinion;

namespace {

template <class F>
std::vector<F> randomElements(size_t n) {
  std::vector<F> v(n);
  for (F &x : v) x = randomElement<F>();
  return v;
}

template <class F>
Buffer<F> onDevice(Stream &stream, const std::vector<F> &v) {
  Buffer<F> b(stream.device(), v.size());
  stream.copyIn(b.data(), v.data(), b.bytes());
  stream.synchronize();
  return b;
}

template <class F>
std::vector<F> onHost(Stream &stream, const F *data, size_t n) {
  std::vector<F> v(n);
  stream.copyOut(v.data(), data, n * sizeof(F));
  stream.synchronize();
  return v;
}

// Rows are of the lengths given, among them empty ones, ones at the limits, and one of many segments.
template <class S>
void matrixOf(const std::vector<uint32_t> &lengths, unsigned count) {
  const size_t vars = 50, n = 16;
  std::vector<uint32_t> starts{0}, columns, values;
  for (uint32_t length : lengths) {
    for (uint32_t i = 0; i < length; i++) {
      columns.push_back(generator()() % vars);
      values.push_back(generator()() % 5);
    }
    starts.push_back(uint32_t(columns.size()));
  }
  std::vector<S> coefficients = randomElements<S>(5), witnesses = randomElements<S>(vars * count);
  coefficients[0] = S::one();
  coefficients[1] = -S::one();
  for (size_t i = 0; i < witnesses.size(); i += 3) witnesses[i] = S::zero();
  Device device(0);
  Stream stream(device);
  pinion_key key{};
  const pinion_matrix matrix{starts.data(), columns.data(), values.data(), columns.size()};
  Loader loader(device, key);
  const int64_t before = device.used();
  Matrix<S> m(loader, matrix, "A", lengths.size(), vars, coefficients.size(), count);
  CHECK(device.used() - before == int64_t(Matrix<S>::bytes(lengths.size(), columns.size(), count)), "footprint of a matrix");
  Buffer<S> c = onDevice(stream, coefficients), w = onDevice(stream, witnesses), out(device, n * count);
  m.multiply(stream, c.data(), w.data(), vars, count, out.data(), n);
  const std::vector<S> got = onHost(stream, out.data(), n * count);
  for (unsigned v = 0; v < count; v++) {
    for (size_t row = 0; row < n; row++) {
      S want = S::zero();
      for (uint32_t i = row < lengths.size() ? starts[row] : 0; row < lengths.size() && i < starts[row + 1]; i++) {
        want = want + coefficients[values[i]] * witnesses[v * vars + columns[i]];
      }
      CHECK(got[v * n + row] == want, "witness %u, row %zu", v, row);
    }
  }
}

template <class S>
int badMatrix(std::vector<uint32_t> starts, std::vector<uint32_t> columns, std::vector<uint32_t> values) {
  Device device(0);
  pinion_key key{};
  Loader loader(device, key);
  try {
    Matrix<S> m(loader, pinion_matrix{starts.data(), columns.data(), values.data(), columns.size()}, "A", starts.size() - 1, 3, 2, 1);
  } catch (const Failure &failure) {
    return failure.code();
  }
  return PINION_OK;
}

// valuesAt evaluates the polynomial with the given values on the domain at the odd point i, by Lagrange's formula.
template <class S>
S valueAt(const std::vector<S> &values, const S &root, const S &x) {
  const size_t n = values.size();
  S xn = S::one(), inverseN = S::zero(), sum = S::zero(), w = S::one();
  for (size_t i = 0; i < n; i++) xn = xn * x, inverseN = inverseN + S::one();
  inverseN = inverseN.inverse();
  for (size_t i = 0; i < n; i++) {
    sum = sum + values[i] * w * (x - w).inverse();
    w = w * root;
  }
  return sum * (xn - S::one()) * inverseN;
}

template <class S>
S rootOf(unsigned bits) {
  S x;
  for (int i = 0; i < S::words; i++) x.w[i] = S::Params::root(i);
  for (int i = bits; i < S::Params::twoAdicity; i++) x = x.squared();
  return x;
}

// quotientOf compares with values of polynomials: of ab - c, and of h times Z at points that have nothing to do with the domain.
template <class S>
void quotientOf(unsigned logN, unsigned count, Form form, bool powers) {
  const size_t n = size_t(1) << logN;
  Device device(0);
  Stream stream(device);
  Domain<S> domain(device, stream, logN);
  const std::vector<S> a = randomElements<S>(n * count), b = randomElements<S>(n * count);
  std::vector<S> vectors;
  for (const auto *v : {&a, &b}) {
    for (const S &x : *v) vectors.push_back(form == Form::montgomery ? x : x.toInteger());
  }
  vectors.resize(3 * n * count);
  Buffer<S> memory = onDevice(stream, vectors);
  quotient(stream, domain, memory.data(), count, form, powers);
  if (powers) {  // reversed as points of H would be
    for (unsigned v = 0; v < count; v++) stream.launch("reversePoints", Shape{2, 64}, reversePoints<S>, memory.data() + v * n, logN);
  }
  const std::vector<S> got = onHost(stream, memory.data(), n * count);
  for (unsigned v = 0; v < count; v++) {
    std::vector<S> av(a.begin() + v * n, a.begin() + (v + 1) * n), bv(b.begin() + v * n, b.begin() + (v + 1) * n), cv(n);
    for (size_t i = 0; i < n; i++) cv[i] = av[i] * bv[i];
    const S root = rootOf<S>(logN);
    const auto wanted = [&](const S &x) { return valueAt(av, root, x) * valueAt(bv, root, x) - valueAt(cv, root, x); };
    for (size_t i = 0; i < n && !powers; i++) {
      const S x = rootOf<S>(logN + 1).power(2 * i + 1);
      CHECK(S::fromInteger(got[v * n + i]) == wanted(x), "2^%u, vector %u, value %zu", logN, v, i);
    }
    if (!powers) continue;
    const S x = randomElement<S>();
    S h = S::zero();
    for (size_t i = n; i-- > 0;) h = h * x + S::fromInteger(got[v * n + i]);
    CHECK(h * (x.power(n) - S::one()) == wanted(x), "2^%u, vector %u", logN, v);
    CHECK(got[v * n + n - 1].isZero(), "2^%u, vector %u: a coefficient more than there are points", logN, v);
  }
}

template <class S>
void badElements() {
  const uint32_t n = 300;
  Device device(0);
  Stream stream(device);
  std::vector<S> vectors(3 * n, S::modulus());
  for (size_t i = 0; i < vectors.size(); i++) {
    vectors[i].w[0] -= 1;  // the largest that is allowed
    if (i % n == 0) vectors[i] = S::zero(), vectors[i].w[0] = 1;
  }
  vectors[n + 299] = vectors[n + 271] = S::modulus();
  vectors[2 * n].w[0] = 2;
  Buffer<S> memory = onDevice(stream, vectors);
  Buffer<unsigned> bad(device, 3);
  stream.fill(bad.data(), 0xff, bad.bytes());
  stream.launch("checkWitnesses", Shape{2, 64, 0, 3}, checkWitnesses<S>, static_cast<const S *>(memory.data()), n, bad.data());
  const std::vector<unsigned> got = onHost(stream, bad.data(), 3);
  CHECK(got[0] == noElement && got[1] == 271 && got[2] == 0, "%u %u %u", got[0], got[1], got[2]);
}

}  // namespace

TEST(prover_matrix) {
  matrixOf<Bn254Fr>({1, 0, 32, 33, 3, 0, 2000, 512, 513, 7, 0}, 1);
  matrixOf<Bls12381Fr>({0, 40, 31, 32, 1025}, 3);
  matrixOf<Bls12381Fr>({0, 0}, 2);
}

TEST(prover_matrix_refused) {
  CHECK(badMatrix<Bn254Fr>({0, 2, 3}, {0, 1, 2}, {0, 1, 1}) == PINION_OK);
  CHECK(badMatrix<Bn254Fr>({0, 2, 3}, {0, 3, 2}, {0, 1, 1}) == PINION_INVALID, "column");
  CHECK(badMatrix<Bn254Fr>({0, 2, 3}, {0, 1, 2}, {0, 2, 1}) == PINION_INVALID, "value");
  CHECK(badMatrix<Bn254Fr>({0, 4, 3}, {0, 1, 2}, {0, 1, 1}) == PINION_INVALID, "order");
  CHECK(badMatrix<Bn254Fr>({1, 2, 3}, {0, 1, 2}, {0, 1, 1}) == PINION_INVALID, "first");
  CHECK(badMatrix<Bn254Fr>({0, 2, 2}, {0, 1, 2}, {0, 1, 1}) == PINION_INVALID, "last");
}

TEST(prover_quotient) {
  for (bool powers : {false, true}) {
    quotientOf<Bn254Fr>(1, 1, Form::integer, powers);
    quotientOf<Bn254Fr>(4, 2, Form::integer, powers);
    quotientOf<Bls12381Fr>(5, 1, Form::integer, powers);
    quotientOf<Bls12381Fr>(3, 3, Form::montgomery, powers);
  }
}

TEST(prover_witness) {
  badElements<Bn254Fr>();
  badElements<Bls12381Fr>();
}

// The steps of a proof before its sums.
#include "../prover/matrix.h"
#include "../prover/quotient.h"
#include "../prover/witness.h"
#include "check.h"
#include "vectors.h"

using namespace pinion;

namespace {

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

// matrixOf multiplies a matrix with count of its witnesses. Rows are of several lengths, among them none, the limits, and many segments.
template <class S>
void matrixOf(const std::string &name, unsigned count) {
  const auto starts = Vectors::get<uint32_t>(name + " starts"), columns = Vectors::get<uint32_t>(name + " columns"),
             values = Vectors::get<uint32_t>(name + " values");
  const auto coefficients = Vectors::get<S>(name + " dictionary"), witnesses = Vectors::get<S>(name + " witnesses integers"),
             products = Vectors::get<S>(name + " integers");
  const size_t rows = starts.size() - 1, vars = witnesses.size() / 3, n = 16;
  Device device(0);
  Stream stream(device);
  pinion_key key{};
  const pinion_matrix matrix{starts.data(), columns.data(), values.data(), columns.size()};
  Loader loader(device, key);
  const int64_t before = device.used();
  Matrix<S> m(loader, matrix, "A", rows, vars, coefficients.size(), count);
  CHECK(device.used() - before == int64_t(Matrix<S>::bytes(rows, columns.size(), count)), "footprint of a matrix");
  Buffer<S> c = onDevice(stream, coefficients), w = onDevice(stream, witnesses), out(device, n * count);
  m.multiply(stream, c.data(), w.data(), vars, count, out.data(), n);
  const std::vector<S> got = onHost(stream, out.data(), n * count);
  for (unsigned v = 0; v < count; v++) {
    for (size_t row = 0; row < n; row++) {
      const S want = row < rows ? products[v * rows + row] : S::zero();
      CHECK(got[v * n + row] == want, "%s: witness %u, row %zu", name.c_str(), v, row);
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

template <class S>
void quotientOf(const std::string &curve, unsigned logN, Form form, bool powers) {
  const std::string name = curve + " quotient " + std::to_string(logN) + " ", suffix = form == Form::integer ? " integers" : "";
  std::vector<S> vectors = Vectors::get<S>(name + "a" + suffix);
  const auto b = Vectors::get<S>(name + "b" + suffix), want = Vectors::get<S>(name + (powers ? "powers integers" : "integers"));
  vectors.insert(vectors.end(), b.begin(), b.end());
  vectors.resize(3 * want.size());
  Device device(0);
  Stream stream(device);
  Domain<S> domain(device, stream, logN);
  Buffer<S> memory = onDevice(stream, vectors);
  quotient(stream, domain, memory.data(), unsigned(want.size() >> logN), form, powers);
  const std::vector<S> got = onHost(stream, memory.data(), want.size());
  for (size_t i = 0; i < want.size(); i++) {
    if (got[i] != want[i]) return CHECK(false, "%s%s, element %zu", name.c_str(), powers ? "powers" : "values", i);
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
  for (const char *matrix : {" matrix 0", " matrix 1", " matrix 2"}) {
    for (unsigned count : {1, 3}) {
      matrixOf<Bn254Fr>(std::string("bn254") + matrix, count);
      matrixOf<Bls12381Fr>(std::string("bls12381") + matrix, count);
    }
  }
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
  for (unsigned logN : {1, 4, 5, 8, 12}) {
    for (Form form : {Form::integer, Form::montgomery}) {
      for (bool powers : {false, true}) {
        quotientOf<Bn254Fr>("bn254", logN, form, powers);
        quotientOf<Bls12381Fr>("bls12381", logN, form, powers);
      }
    }
  }
}

TEST(prover_witness) {
  badElements<Bn254Fr>();
  badElements<Bls12381Fr>();
}

// Sparse matrices on the device.
#pragma once

#include <vector>

#include "loader.h"
#include "../field/field.h"

namespace pinion {

// Rows of up to shortRow entries are a thread's work. Longer ones are cut into segments of at most segmentLength, a warp's work each,
// so that a row of any length is done by as many warps as it takes.
constexpr uint32_t shortRow = 32, segmentLength = 512;

struct Segment {
  uint32_t first, count;  // entries
};

struct LongRow {
  uint32_t row, first, count;  // segments
};

template <class S>
struct MatrixView {
  const uint32_t *starts, *columns, *values;
  const S *coefficients;
  uint32_t rows;

  // term is the product of an entry: of a coefficient in Montgomery form and an integer, so an integer.
  PINION_DEVICE void addTerm(S &sum, uint32_t entry, const S *witness) const {
    const S w = witness[columns[entry]];
    if (w.isZero()) return;
    const uint32_t value = values[entry];
    if (value == 0) {  // one
      sum = sum + w;
    } else if (value == 1) {  // minus one
      sum = sum - w;
    } else {
      sum = sum + coefficients[value] * w;
    }
  }
};

// checkEntries sets *wrong where an index is out of range.
template <class S>
PINION_KERNEL checkEntries(const uint32_t *columns, const uint32_t *values, size_t entries, uint32_t vars, uint32_t coefficients, unsigned *wrong) {
  for (size_t i = globalThread(); i < entries; i += globalThreads()) {
    if (columns[i] >= vars || values[i] >= coefficients) atomicOr(wrong, 1u);
  }
}

// multiplyShort writes the products of short rows, and zeros after the last row. Vector blockIndexY of out has n elements, that of
// witnesses stride.
template <class S>
PINION_KERNEL_BOUNDS(256, 1) multiplyShort(MatrixView<S> matrix, const S *witnesses, size_t stride, S *out, size_t n) {
  const S *witness = witnesses + blockIndexY() * stride;
  for (size_t row = globalThread(); row < n; row += globalThreads()) {
    S sum = S::zero();
    if (row < matrix.rows) {
      const uint32_t from = matrix.starts[row], to = matrix.starts[row + 1];
      if (to - from > shortRow) continue;
      for (uint32_t i = from; i < to; i++) matrix.addTerm(sum, i, witness);
    }
    out[blockIndexY() * n + row] = sum;
  }
}

// multiplySegments writes the sum of each segment: segments of them for each witness.
template <class S>
PINION_KERNEL_BOUNDS(256, 1) multiplySegments(MatrixView<S> matrix, const S *witnesses, size_t stride, const Segment *list, uint32_t segments, S *sums) {
  const S *witness = witnesses + blockIndexY() * stride;
  const size_t warp = globalThread() / 32;
  if (warp >= segments) return;
  const Segment segment = list[warp];
  S sum = S::zero();
  for (uint32_t i = laneIndex(); i < segment.count; i += 32) matrix.addTerm(sum, segment.first + i, witness);
  for (unsigned by = 16; by > 0; by /= 2) {
    S other;
    PINION_UNROLL
    for (int j = 0; j < S::words; j++) other.w[j] = shuffleXor(sum.w[j], by);
    sum = sum + other;
  }
  if (laneIndex() == 0) sums[size_t(blockIndexY()) * segments + warp] = sum;
}

// addSegments writes the products of long rows.
template <class S>
PINION_KERNEL_BOUNDS(256, 1) addSegments(const LongRow *list, uint32_t count, const S *sums, uint32_t segments, S *out, size_t n) {
  for (size_t k = globalThread(); k < count; k += globalThreads()) {
    const LongRow row = list[k];
    S sum = S::zero();
    for (uint32_t i = 0; i < row.count; i++) sum = sum + sums[size_t(blockIndexY()) * segments + row.first + i];
    out[blockIndexY() * n + row.row] = sum;
  }
}

// Matrix is a matrix on the device.
template <class S>
class Matrix {
 public:
  // bytes is its memory at most: a long row has more than shortRow entries to each of its segments but the first.
  static size_t bytes(size_t rows, size_t entries, unsigned batch) {
    return 4 * (rows + 1 + 2 * entries) + segmentBound(entries) * (sizeof(Segment) + sizeof(LongRow) + batch * sizeof(S));
  }

  Matrix(Loader &loader, const pinion_matrix &matrix, const char *name, size_t rows, size_t vars, size_t coefficients, unsigned batch)
      : rows_(rows),
        starts_(loader.device(), rows + 1),
        columns_(loader.device(), matrix.entries),
        values_(loader.device(), matrix.entries),
        segments_(loader.device(), segmentBound(matrix.entries)),
        longRows_(loader.device(), segmentBound(matrix.entries)),
        sums_(loader.device(), segmentBound(matrix.entries) * batch) {
    loader.copy(starts_.data(), matrix.starts, starts_.bytes());
    loader.copy(columns_.data(), matrix.columns, columns_.bytes());
    loader.copy(values_.data(), matrix.values, values_.bytes());
    cut(loader, matrix, name);
    Buffer<unsigned> wrong(loader.device(), 1);
    Pinned<unsigned> found(loader.device(), 1);
    Stream &stream = loader.stream();
    stream.clear(wrong.data(), sizeof(unsigned));
    if (matrix.entries) {
      stream.launch("checkEntries", Shape{blocksFor(matrix.entries, 256, 1 << 16), 256}, checkEntries<S>, columns_.data(), values_.data(),
                    size_t(matrix.entries), uint32_t(vars), uint32_t(coefficients), wrong.data());
    }
    stream.copyOut(found.data(), wrong.data(), sizeof(unsigned));
    stream.synchronize();
    if (found[0]) throw Failure(PINION_INVALID, std::string("matrix ") + name + ": an index is out of range");
  }

  // multiply enqueues the products with count witnesses, stride elements apart, into vectors of n elements, zero after the last row.
  // Witnesses are integers, and so are the products.
  void multiply(Stream &stream, const S *coefficients, const S *witnesses, size_t stride, unsigned count, S *out, size_t n) const {
    const MatrixView<S> view{starts_.data(), columns_.data(), values_.data(), coefficients, uint32_t(rows_)};
    stream.launch("multiplyShort", Shape{blocksFor(n, 256), 256, 0, count}, multiplyShort<S>, view, witnesses, stride, out, n);
    if (!longCount_) return;
    stream.launch("multiplySegments", Shape{blocksFor(size_t(segmentCount_) * 32, 256), 256, 0, count}, multiplySegments<S>, view, witnesses,
                  stride, static_cast<const Segment *>(segments_.data()), segmentCount_, sums_.data());
    stream.launch("addSegments", Shape{blocksFor(longCount_, 256), 256, 0, count}, addSegments<S>,
                  static_cast<const LongRow *>(longRows_.data()), longCount_, static_cast<const S *>(sums_.data()), segmentCount_, out, n);
  }

 private:
  static size_t segmentBound(size_t entries) { return entries / shortRow + 1; }

  // cut makes the lists of long rows, and checks that rows follow one another.
  void cut(Loader &loader, const pinion_matrix &matrix, const char *name) {
    std::vector<Segment> segments;
    std::vector<LongRow> rows;
    const uint32_t *starts = matrix.starts;
    bool good = starts[0] == 0 && starts[rows_] == matrix.entries;
    for (size_t i = 0; good && i < rows_; i++) {
      const uint32_t from = starts[i], to = starts[i + 1];
      good = from <= to && to <= matrix.entries;
      if (!good || to - from <= shortRow) continue;
      rows.push_back({uint32_t(i), uint32_t(segments.size()), (to - from + segmentLength - 1) / segmentLength});
      for (uint32_t at = from; at < to; at += segmentLength) segments.push_back({at, to - at < segmentLength ? to - at : segmentLength});
    }
    if (!good) throw Failure(PINION_INVALID, std::string("matrix ") + name + ": its rows are out of order");
    segmentCount_ = uint32_t(segments.size());
    longCount_ = uint32_t(rows.size());
    loader.copyOwn(segments_.data(), segments.data(), segments.size() * sizeof(Segment));
    loader.copyOwn(longRows_.data(), rows.data(), rows.size() * sizeof(LongRow));
  }

  size_t rows_;
  Buffer<uint32_t> starts_, columns_, values_;
  Buffer<Segment> segments_;
  Buffer<LongRow> longRows_;
  Secret<S> sums_;
  uint32_t segmentCount_ = 0, longCount_ = 0;
};

}  // namespace pinion

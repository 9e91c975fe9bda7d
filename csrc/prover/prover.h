// Groth16 proofs on one curve.
#pragma once

#include <cstring>
#include <string>

#include "../msm/msm.h"
#include "../msm/tables.h"
#include "circuit.h"
#include "finish.h"
#include "loader.h"
#include "matrix.h"
#include "points.h"
#include "quotient.h"
#include "witness.h"

namespace pinion {

// Layout is how a circuit is kept and computed: a function of the key's numbers and of the device.
struct Layout {
  unsigned logDomain = 0;
  unsigned batch = 0;
  size_t width = 0;  // of a vector of scalars: the wires, then r and s
  Windows witness, quotient;
  int arrays = 1;  // of the three over the witness in G1, that are summed up at once
};

// Prover is a circuit on the curve C.
//
// The blinding r delta of A and s delta of B are terms of their sums: a vector of scalars ends in r and s, and the bases of A and of
// B2 in delta in the place of the one or the other. All four sums over the witness have the same scalars, so one plan.
template <class C>
class Prover : public Circuit {
  using S = typename C::Scalar;
  using F1 = typename C::G1;
  using F2 = typename C::G2;
  using G1 = Affine<F1>;
  using G2 = Affine<F2>;

 public:
  static pinion_footprint footprint(Device &device, const pinion_key &key) {
    const Layout l = layout(device, key);
    const size_t n = size_t(1) << l.logDomain, K = l.batch;
    pinion_footprint f{};
    f.batch = l.batch;
    f.device = int64_t(Domain<S>::bytes(l.logDomain) + key.coefficients * sizeof(S) + Matrix<S>::bytes(key.rows, key.a.entries, l.batch) +
                       Matrix<S>::bytes(key.rows, key.b.entries, l.batch) + baseBytes(l) + 3 * K * n * sizeof(S) + slots * Slot::bytes(l) +
                       Plan<S>::bytes(device, l.width, int(K), l.witness) + Plan<S>::bytes(device, n, int(K), l.quotient) +
                       Sums<F1>::bytes(device, Plan<S>::capacity(l.width, int(K), l.witness), int(K), l.witness.pass(), l.arrays) +
                       Sums<F2>::bytes(device, Plan<S>::capacity(l.width, int(K), l.witness), int(K), l.witness.pass()) +
                       Sums<F1>::bytes(device, Plan<S>::capacity(n, int(K), l.quotient), int(K), l.quotient.pass()) + K * (6 * sizeof(Xyzz<F1>) + sizeof(Xyzz<F2>)));
    f.pinned = int64_t(slots * Slot::pinnedBytes(l) + 2 * sizeof(unsigned));
    return f;
  }

  Prover(Device &device, const pinion_key &key) : Prover(device, key, layout(device, key), Loader(device, key)) {}

  unsigned batch() const override { return layout_.batch; }
  size_t proofBytes() const override { return sizeof(Proof<C>); }
  std::shared_ptr<Marks> marks(unsigned slot) override { return slot_[slot].marks; }

  void upload(Stream &copies, const Part &part) override {
    Slot &slot = slot_[part.slot];
    copies.record((*slot.marks)[uploadBegun]);
    for (unsigned i = 0; i < part.count; i++) {
      const pinion_input &input = part.inputs[i];
      S *vector = slot.vectors.data() + i * layout_.width;
      std::memcpy(&slot.blinding[2 * i], input.r, sizeof(S));
      std::memcpy(&slot.blinding[2 * i + 1], input.s, sizeof(S));
      copies.copyIn(vector, input.witness, vars_ * sizeof(S));
      copies.copyIn(vector + vars_, &slot.blinding[2 * i], 2 * sizeof(S));
    }
    copies.record((*slot.marks)[uploadDone]);
  }

  void uploaded(const Part &part) override { (*slot_[part.slot].marks)[uploadDone].synchronize(); }

  void start(Streams &streams, const Part &part) override {
    Slot &slot = slot_[part.slot];
    Stream &stream = streams.witness;
    stream.wait((*slot.marks)[uploadDone]);
    stream.record((*slot.marks)[computeBegun]);
    stream.fill(slot.bad.data(), 0xff, slot.bad.bytes());
    stream.launch("checkWitnesses", Shape{blocksFor(layout_.width, 256, 1 << 14), 256, 0, part.count}, checkWitnesses<S>,
                  static_cast<const S *>(slot.vectors.data()), uint32_t(layout_.width), slot.bad.data());
    witnessPlan_.split(stream, slot.vectors.data(), false, int(part.count));
    startQuotient(streams.quotient, part);
    witnessPlan_.wait();
  }

  // The sum in G2 goes first: it takes longest.
  void prove(Streams &streams, const Part &part) override {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    witnessPlan_.sort(streams.witness);
    streams.witness.record(marks[witnessSorted]);
    streams.second.wait(marks[witnessSorted]);
    witnessSums2_.run(streams.second, witnessPlan_, static_cast<const G2 *>(pointsB2_.data()), sums().b2);
    streams.second.record(marks[sumB2]);
    sumWitness(streams.witness, marks);
    streams.witness.launch("blind", Shape{part.count, S::words * Held<F1>::Point::lanes, 0, 2}, blind<C>, sums(), constants_,
                           static_cast<const S *>(slot.vectors.data()), layout_.width);
    quotientPlan_.wait();
    quotientPlan_.sort(streams.quotient);
    streams.quotient.record(marks[quotientSorted]);
    quotientSums_.run(streams.quotient, quotientPlan_, static_cast<const G1 *>(pointsH_.data()), sums().h);
    streams.quotient.record(marks[sumH]);
    finish(streams.witness, part);
  }

  bool done(const Part &part) override { return (*slot_[part.slot].marks)[computeDone].done(); }

  void collect(const Part &part, unsigned char *proofs, pinion_timings &timings) override {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    marks[computeDone].synchronize();
    for (unsigned i = 0; i < part.count; i++) {
      if (slot.foundBad[i] != noElement) throw Failure(PINION_WITNESS, badElement(part.first + i, slot.foundBad[i]));
    }
    std::memcpy(proofs, slot.foundProofs.data(), part.count * sizeof(Proof<C>));
    timings.upload += marks.between(uploadBegun, uploadDone);
    timings.synthesis += marks.between(computeBegun, synthesized);
    timings.ntt += marks.between(synthesized, transformed);
    timings.sort += marks.between(computeBegun, witnessSorted) + marks.between(transformed, quotientSorted);
    timings.a += marks.between(witnessSorted, sumA);
    timings.b1 += marks.between(sumA, sumB1);
    timings.c += marks.between(sumB1, sumC);
    timings.b2 += marks.between(witnessSorted, sumB2);
    timings.h += marks.between(quotientSorted, sumH);
    timings.finish += std::min({marks.between(sumC, computeDone), marks.between(sumB2, computeDone), marks.between(sumH, computeDone)});
  }

 private:
  // Slot is where the inputs of a part are, and its results.
  struct Slot {
    Slot(Device &device, const Layout &l)
        : vectors(device, l.batch * l.width),
          bad(device, l.batch),
          proofs(device, l.batch),
          blinding(device, 2 * l.batch),
          foundBad(device, l.batch),
          foundProofs(device, l.batch),
          marks(std::make_shared<Marks>(device)) {}
    static size_t bytes(const Layout &l) { return l.batch * (l.width * sizeof(S) + sizeof(unsigned) + sizeof(Proof<C>)); }
    static size_t pinnedBytes(const Layout &l) { return l.batch * (2 * sizeof(S) + sizeof(unsigned) + sizeof(Proof<C>)); }

    Secret<S> vectors;
    Buffer<unsigned> bad;
    Buffer<Proof<C>> proofs;
    Pinned<S> blinding;
    Pinned<unsigned> foundBad;
    Pinned<Proof<C>> foundProofs;
    std::shared_ptr<Marks> marks;
  };

  static size_t baseBytes(const Layout &l) {
    return l.witness.tables * l.width * (3 * sizeof(G1) + sizeof(G2)) + (size_t(l.quotient.tables) << l.logDomain) * sizeof(G1);
  }

  // layout takes as many proofs at once as the device needs to be busy, and as many tables as an eighth of its memory holds.
  static Layout layout(Device &device, const pinion_key &key) {
    pinion_device_info info;
    device.describe(&info);
    Layout l;
    while (size_t(1) << l.logDomain < key.domain) l.logDomain++;
    l.width = key.vars + 2;
    const size_t busy = size_t(1) << 20;
    const size_t alike = size_t(1) << 24;  // entries: with more, the tail of a sum is a small part of it
    l.batch = key.batch ? key.batch : unsigned(std::min<size_t>(std::max<size_t>(busy >> l.logDomain, 1), device.maxBatch()));
    for (;; l.batch /= 2) {
      for (int tables = device.maxTables(); tables > 0; tables /= 2) {
        l.witness = Windows::choose(S::Params::bits, l.width, int(l.batch), tables);
        l.quotient = Windows::choose(S::Params::bits, key.domain, int(l.batch), tables);
        if (baseBytes(l) <= size_t(info.memory) / 8) break;
      }
      const bool fits = Plan<S>::capacity(l.width, int(l.batch), l.witness) < Plan<S>::mostEntries &&
                        Plan<S>::capacity(key.domain, int(l.batch), l.quotient) < Plan<S>::mostEntries;
      if (fits) {
        if (Plan<S>::capacity(l.width, int(l.batch), l.witness) <= alike) l.arrays = msm::abreast;
        return l;
      }
      if (l.batch == 1) throw Failure(PINION_INVALID, "a circuit of " + std::to_string(key.vars) + " wires is too large for this library");
    }
  }

  Prover(Device &device, const pinion_key &key, const Layout &l, Loader &&loader)
      : device_(device),
        layout_(l),
        vars_(key.vars),
        powers_(key.quotient == PINION_POWERS),
        domain_(device, loader.stream(), l.logDomain),
        coefficients_(device, key.coefficients),
        a_(loader, key.a, "A", key.rows, key.vars, key.coefficients, l.batch),
        b_(loader, key.b, "B", key.rows, key.vars, key.coefficients, l.batch),
        pointsA_(device, l.width * l.witness.tables),
        pointsB1_(device, l.width * l.witness.tables),
        pointsC_(device, l.width * l.witness.tables),
        pointsB2_(device, l.width * l.witness.tables),
        pointsH_(device, (size_t(1) << l.logDomain) * l.quotient.tables),
        vectors_(device, (size_t(3) * l.batch) << l.logDomain),
        slot_{Slot(device, l), Slot(device, l)},
        witnessPlan_(device, l.width, int(l.batch), l.witness),
        quotientPlan_(device, size_t(1) << l.logDomain, int(l.batch), l.quotient),
        witnessSums_(device, witnessPlan_.capacity(), int(l.batch), l.witness.pass(), l.arrays),
        witnessSums2_(device, witnessPlan_.capacity(), int(l.batch), l.witness.pass()),
        quotientSums_(device, quotientPlan_.capacity(), int(l.batch), l.quotient.pass()),
        results1_(device, 6 * l.batch),
        results2_(device, l.batch) {
    loader.copy(coefficients_.data(), key.coefficient, coefficients_.bytes());
    const size_t most = std::max(l.width, domain_.size());
    {
      Points<F1, S> points(loader, key, most);
      bases(points, loader.stream(), pointsA_, key.points_a, 0, key.vars, key.delta1, 0);
      bases(points, loader.stream(), pointsB1_, key.points_b1, 0, key.vars, nullptr, 0);
      bases(points, loader.stream(), pointsC_, key.points_c, key.public_wires + 1, key.vars - key.public_wires - 1, nullptr, 0);
      basesOfQuotient(points, loader.stream(), key.points_h);
      points.finish();
    }
    Points<F2, S> points(loader, key, l.width);
    bases(points, loader.stream(), pointsB2_, key.points_b2, 0, key.vars, key.delta2, 1);
    points.finish();
    G1 alpha, beta;
    std::memcpy(&alpha, key.alpha1, sizeof alpha);
    std::memcpy(&beta, key.beta1, sizeof beta);
    constants_.alpha1 = Xyzz<F1>::from(alpha);
    constants_.beta1 = Xyzz<F1>::from(beta);
    std::memcpy(&constants_.beta2, key.beta2, sizeof(G2));
  }

  // bases fills the tables of one sum over the witness: count points from the one of wire first on, and delta, if any, for the scalar
  // r (0) or s (1). All others are at infinity.
  template <class F>
  void bases(Points<F, S> &points, Stream &stream, Buffer<Affine<F>> &tables, const void *from, size_t first, size_t count, const void *delta, unsigned which) {
    stream.clear(tables.data(), layout_.width * sizeof(Affine<F>));
    points.load(tables.data() + first, from, count);
    if (delta) points.loadOwn(tables.data() + vars_ + which, delta);
    fillTables(stream, tables.data(), layout_.width, layout_.witness);
  }

  // basesOfQuotient fills those of H. The transform to coefficients leaves them in bit-reversed order, so the points of powers are too.
  void basesOfQuotient(Points<F1, S> &points, Stream &stream, const void *from) {
    const size_t n = domain_.size();
    points.load(pointsH_.data(), from, n);
    if (powers_) stream.launch("reversePoints", Shape{blocksFor(n, 256), 256}, reversePoints<G1>, pointsH_.data(), layout_.logDomain);
    fillTables(stream, pointsH_.data(), n, layout_.quotient);
  }

  // startQuotient enqueues the quotient and its digits. What a and b the caller has computed go straight to where they are transformed: the
  // copies run beside the sums over the witness, so that no memory is kept for them in the slots.
  void startQuotient(Stream &stream, const Part &part) {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    const size_t n = domain_.size();
    S *a = vectors_.data(), *b = a + n * part.count;
    const bool given = part.inputs[0].a != nullptr;
    stream.wait(marks[computeBegun]);
    for (unsigned i = 0; given && i < part.count; i++) {
      stream.copyIn(a + i * n, part.inputs[i].a, n * sizeof(S));
      stream.copyIn(b + i * n, part.inputs[i].b, n * sizeof(S));
    }
    if (!given) {
      a_.multiply(stream, coefficients_.data(), slot.vectors.data(), layout_.width, part.count, a, n);
      b_.multiply(stream, coefficients_.data(), slot.vectors.data(), layout_.width, part.count, b, n);
    }
    stream.record(marks[synthesized]);
    quotient(stream, domain_, vectors_.data(), part.count, given ? Form::montgomery : Form::integer, powers_);
    stream.record(marks[transformed]);
    quotientPlan_.split(stream, a, false, int(part.count));
  }

  // sumWitness enqueues the sums in G1 over the witness, as many at once as there is memory for.
  void sumWitness(Stream &stream, Marks &marks) {
    const G1 *tables[] = {pointsA_.data(), pointsB1_.data(), pointsC_.data()};
    const int atOnce = witnessSums_.arrays();
    for (int first = 0; first < 3; first += atOnce) {
      msm::Bases<F1> bases{};
      for (int i = 0; i < atOnce; i++) bases.tables[i] = tables[first + i];
      witnessSums_.run(stream, witnessPlan_, bases, atOnce, sums().a + first * layout_.batch, layout_.batch);
      for (int i = 0; i < atOnce; i++) stream.record(marks[Mark(sumA + first + i)]);
    }
  }

  // finish enqueues what is left once all sums are there.
  void finish(Stream &stream, const Part &part) {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    const unsigned threads = 64;
    stream.wait(marks[sumB2]);
    stream.wait(marks[sumH]);
    stream.launch("finish", Shape{blocksFor(part.count, threads), threads, 0, 3}, pinion::finish<C>, sums(), constants_, slot.proofs.data(), part.count);
    stream.copyOut(slot.foundBad.data(), slot.bad.data(), part.count * sizeof(unsigned));
    stream.copyOut(slot.foundProofs.data(), slot.proofs.data(), part.count * sizeof(Proof<C>));
    stream.record(marks[computeDone]);
  }

  SumsOf<C> sums() const {
    Xyzz<F1> *first = results1_.data();
    const size_t K = layout_.batch;
    return {first, first + K, first + 2 * K, first + 3 * K, first + 4 * K, first + 5 * K, results2_.data()};
  }

  std::string badElement(unsigned input, unsigned element) const {
    const std::string where = "input " + std::to_string(input) + ": ";
    if (element == 0) return where + "element 0 of the witness is not 1";
    if (element >= vars_) return where + "the blinding is not below the order of the group";
    return where + "element " + std::to_string(element) + " of the witness is not below the order of the group";
  }

  Device &device_;
  Layout layout_;
  size_t vars_;
  bool powers_;
  Domain<S> domain_;
  Buffer<S> coefficients_;
  Matrix<S> a_, b_;
  Buffer<G1> pointsA_, pointsB1_, pointsC_;
  Buffer<G2> pointsB2_;
  Buffer<G1> pointsH_;
  Constants<C> constants_;
  Secret<S> vectors_;  // a, b, c
  Slot slot_[slots];
  Plan<S> witnessPlan_, quotientPlan_;
  Sums<F1> witnessSums_;
  Sums<F2> witnessSums2_;
  Sums<F1> quotientSums_;
  Buffer<Xyzz<F1>> results1_;
  Buffer<Xyzz<F2>> results2_;
};

}  // namespace pinion

// Groth16 proofs on one curve.
#pragma once

#include <cstring>
#include <string>

#include "../msm/passes.h"
#include "../msm/subset.h"
#include "../msm/tables.h"
#include "circuit.h"
#include "finish.h"
#include "layout.h"
#include "loader.h"
#include "matrix.h"
#include "points.h"
#include "quotient.h"
#include "witness.h"

namespace pinion {

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
    const Layout<C> l(device, key);
    const size_t K = l.batch;
    const size_t entries = Plan<S>::capacity(l.width, int(K), l.witness), entriesH = Plan<S>::capacity(l.domain(), int(K), l.quotient);
    pinion_footprint f{};
    f.batch = l.batch;
    f.device = int64_t(Domain<S>::bytes(l.logDomain) + key.coefficients * sizeof(S) + Matrix<S>::bytes(key.rows, key.a.entries, l.batch) +
                       Matrix<S>::bytes(key.rows, key.b.entries, l.batch) + l.baseBytes() + (l.sparse ? l.width * sizeof(uint32_t) : 0) +
                       3 * K * l.domain() * sizeof(S) + slots * Slot::bytes(l) + Plan<S>::bytes(device, l.width, int(K), l.witness) +
                       Plan<S>::bytes(device, l.domain(), int(K), l.quotient) +
                       Sums<F1>::bytes(device, entries, int(K), l.witness.pass(), l.arrays) +
                       Sums<F2>::bytes(device, entries, int(K), l.witness.pass()) + Sums<F1>::bytes(device, entriesH, int(K), l.quotient.pass()) +
                       K * (results1 * sizeof(Xyzz<F1>) + results2 * sizeof(Xyzz<F2>)));
    f.pinned = int64_t(slots * Slot::pinnedBytes(l) + 2 * sizeof(unsigned));
    return f;
  }

  Prover(Device &device, const pinion_key &key) : Prover(device, key, Layout<C>(device, key), Loader(device, key)) {}

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
    slot.earlier = {};
    stream.wait((*slot.marks)[uploadDone]);
    stream.record((*slot.marks)[computeBegun]);
    stream.fill(slot.bad.data(), 0xff, slot.bad.bytes());
    stream.launch("checkWitnesses", Shape{blocksFor(layout_.width, 256, 1 << 14), 256, 0, part.count}, checkWitnesses<S>,
                  static_cast<const S *>(slot.vectors.data()), uint32_t(layout_.width), slot.bad.data());
    splitWitness(stream, part, steps() - 1);
    startQuotient(streams.quotient, part);
    witnessPlan_.wait();
  }

  void prove(Streams &streams, const Part &part) override {
    Slot &slot = slot_[part.slot];
    for (int step = steps(); step-- > 0;) {
      sumWitness(streams, part, step);
      if (step == 0) break;
      streams.witness.wait((*slot.marks)[sumB2]);
      splitWitness(streams.witness, part, step - 1);
    }
    streams.witness.launch("blind", Shape{part.count, S::words * Held<F1>::Point::lanes, 0, 2}, blind<C>, totals(), constants_,
                           static_cast<const S *>(slot.vectors.data()), layout_.width);
    for (int pass = layout_.quotient.passes; pass-- > 0;) {
      sumQuotient(streams.quotient, part, pass);
      if (pass > 0) splitQuotient(streams.quotient, part, pass - 1);
    }
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
    addWitnessTimes(timings, marks, 0);
    addQuotientTimes(timings, marks, 0);
    for (auto phase : {&pinion_timings::sort, &pinion_timings::a, &pinion_timings::b1, &pinion_timings::b2, &pinion_timings::c, &pinion_timings::h}) {
      timings.*phase += slot.earlier.*phase;
    }
    timings.finish += std::min({marks.between(sumC, computeDone), marks.between(sumB2, computeDone), marks.between(sumH, computeDone)});
  }

 private:
  // Slot is where the inputs of a part are, and its results.
  struct Slot {
    Slot(Device &device, const Layout<C> &l)
        : vectors(device, l.batch * l.width),
          bad(device, l.batch),
          proofs(device, l.batch),
          blinding(device, 2 * l.batch),
          foundBad(device, l.batch),
          foundProofs(device, l.batch),
          marks(std::make_shared<Marks>(device)) {}
    static size_t bytes(const Layout<C> &l) { return l.batch * (l.width * sizeof(S) + sizeof(unsigned) + sizeof(Proof<C>)); }
    static size_t pinnedBytes(const Layout<C> &l) { return l.batch * (2 * sizeof(S) + sizeof(unsigned) + sizeof(Proof<C>)); }

    Secret<S> vectors;
    Buffer<unsigned> bad;
    Buffer<Proof<C>> proofs;
    Pinned<S> blinding;
    Pinned<unsigned> foundBad;
    Pinned<Proof<C>> foundProofs;
    std::shared_ptr<Marks> marks;
    pinion_timings earlier{};  // of the sums before the last step and pass, whose marks are recorded again
  };

  static constexpr size_t results1 = 12, results2 = 2;  // sums of a proof, and once more those of a pass

  Prover(Device &device, const pinion_key &key, const Layout<C> &l, Loader &&loader)
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
        pointsH_(device, l.domain() * l.quotient.tables),
        inB_(device, l.sparse ? l.width : 0),
        vectors_(device, 3 * l.batch * l.domain()),
        slot_{Slot(device, l), Slot(device, l)},
        witnessPlan_(device, l.width, int(l.batch), l.witness),
        quotientPlan_(device, l.domain(), int(l.batch), l.quotient),
        witnessSums_(device, witnessPlan_.capacity(), int(l.batch), l.witness.pass(), l.arrays),
        witnessSums2_(device, witnessPlan_.capacity(), int(l.batch), l.witness.pass()),
        quotientSums_(device, quotientPlan_.capacity(), int(l.batch), l.quotient.pass()),
        results1_(device, results1 * l.batch),
        results2_(device, results2 * l.batch) {
    loader.copy(coefficients_.data(), key.coefficient, coefficients_.bytes());
    {
      Points<F1, S> points(loader, key, std::max(l.width, l.domain()));
      load(points, loader.stream(), pointsA_, key.points_a, 0, key.vars, key.delta1, 0);
      load(points, loader.stream(), pointsB1_, key.points_b1, 0, key.vars, nullptr, 0);
      load(points, loader.stream(), pointsC_, key.points_c, key.public_wires + 1, key.vars - key.public_wires - 1, nullptr, 0);
      points.load(pointsH_.data(), key.points_h, key.domain);
      points.finish();
    }
    {
      Points<F2, S> points(loader, key, l.width);
      load(points, loader.stream(), pointsB2_, key.points_b2, 0, key.vars, key.delta2, 1);
      points.finish();
    }
    arrange(loader.stream());
    G1 alpha, beta;
    std::memcpy(&alpha, key.alpha1, sizeof alpha);
    std::memcpy(&beta, key.beta1, sizeof beta);
    constants_.alpha1 = Xyzz<F1>::from(alpha);
    constants_.beta1 = Xyzz<F1>::from(beta);
    std::memcpy(&constants_.beta2, key.beta2, sizeof(G2));
    loader.stream().synchronize();
  }

  // load fills the bases of one sum over the witness: count points from the one of wire first on, and delta, if any, for the scalar
  // r (0) or s (1). All others are at infinity.
  template <class F>
  void load(Points<F, S> &points, Stream &stream, Buffer<Affine<F>> &bases, const void *from, size_t first, size_t count, const void *delta, unsigned which) {
    stream.clear(bases.data(), layout_.width * sizeof(Affine<F>));
    points.load(bases.data() + first, from, count);
    if (delta) points.loadOwn(bases.data() + vars_ + which, delta);
  }

  // arrange enqueues what makes tables for sums of bases as the key has them. The transform to coefficients leaves them in bit-reversed
  // order, and so it is with the points of powers.
  void arrange(Stream &stream) {
    if (powers_) stream.launch("reversePoints", Shape{blocksFor(layout_.domain(), 256), 256}, reversePoints<G1>, pointsH_.data(), layout_.logDomain);
    if (layout_.sparse) leaveOut(stream);
    const size_t b = inSubset_.indices ? inSubset_.count : layout_.width;
    fillTables(stream, pointsA_.data(), layout_.width, layout_.witness);
    fillTables(stream, pointsB1_.data(), b, layout_.witness);
    fillTables(stream, pointsC_.data(), layout_.width, layout_.witness);
    fillTables(stream, pointsB2_.data(), b, layout_.witness);
    fillTables(stream, pointsH_.data(), layout_.domain(), layout_.quotient);
  }

  // leaveOut takes the wires that aren't in B out of its bases, if they are many enough to pay for sorting the others' digits again.
  void leaveOut(Stream &stream) {
    const Subset found = findSubset(stream, pointsB1_.data(), pointsB2_.data(), layout_.width, inB_.data());
    if (found.count > layout_.width / 4 * 3) return;
    inSubset_ = found;
    unsigned char *room = reinterpret_cast<unsigned char *>(vectors_.data());
    moveTogether(stream, pointsB1_.data(), found, reinterpret_cast<G1 *>(room), vectors_.bytes() / sizeof(G1));
    moveTogether(stream, pointsB2_.data(), found, reinterpret_cast<G2 *>(room), vectors_.bytes() / sizeof(G2));
  }

  // Sums over the witness are made in steps, from the last to the first: one to a pass, or two, of which the first is for B alone.
  int steps() const { return layout_.witness.passes * (inSubset_.indices ? 2 : 1); }
  int passOf(int step) const { return inSubset_.indices ? step / 2 : step; }
  bool hasB(int step) const { return !inSubset_.indices || step % 2 == 1; }
  bool hasA(int step) const { return !inSubset_.indices || step % 2 == 0; }

  void splitWitness(Stream &stream, const Part &part, int step) {
    Slot &slot = slot_[part.slot];
    stream.record((*slot.marks)[Mark(witnessSplit + step % 2)]);
    witnessPlan_.split(stream, slot.vectors.data(), false, int(part.count), passOf(step), hasA(step) ? Subset{} : inSubset_);
  }

  // sumWitness enqueues a step, the sum in G2 first: it takes longest. It waits for the digits, and so for the step before.
  void sumWitness(Streams &streams, const Part &part, int step) {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    witnessPlan_.wait();
    if (step < steps() - 1) addWitnessTimes(slot.earlier, marks, step + 1);
    witnessPlan_.sort(streams.witness);
    streams.witness.record(marks[witnessSorted]);
    const bool first = passOf(step) == layout_.witness.passes - 1;
    const SumsOf<C> to = first ? totals() : sumsOfPass();
    if (hasB(step)) {
      streams.second.wait(marks[witnessSorted]);
      witnessSums2_.run(streams.second, witnessPlan_, static_cast<const G2 *>(pointsB2_.data()), to.b2);
      if (!first) carryOver(streams.second, layout_.witness, totals().b2, to.b2, part.count);
      streams.second.record(marks[sumB2]);
    }
    sumArrays(streams.witness, marks, to.a, firstArray(step), arrayStep(step));
    for (int i = firstArray(step); i < 3 && !first; i += arrayStep(step)) {
      carryOver(streams.witness, layout_.witness, totals().a + i * layout_.batch, to.a + i * layout_.batch, part.count);
    }
  }

  // firstArray and arrayStep say which of A, B1 and C are in a step.
  int firstArray(int step) const { return hasA(step) ? 0 : 1; }
  int arrayStep(int step) const { return hasA(step) && hasB(step) ? 1 : 2; }

  // sumArrays enqueues those of the sums for A, B1 and C that first, first + step and so on are, as many at once as there is memory for.
  void sumArrays(Stream &stream, Marks &marks, Xyzz<F1> *results, int first, int step) {
    const G1 *tables[] = {pointsA_.data(), pointsB1_.data(), pointsC_.data()};
    while (first < 3) {
      msm::Bases<F1> bases{};
      int count = 0;
      for (int i = first; i < 3 && count < witnessSums_.arrays(); i += step) bases.tables[count++] = tables[i];
      witnessSums_.run(stream, witnessPlan_, bases, count, results + first * layout_.batch, step * layout_.batch);
      for (; count > 0; count--, first += step) stream.record(marks[Mark(sumA + first)]);
    }
  }

  void addWitnessTimes(pinion_timings &timings, Marks &marks, int step) {
    using Phase = float pinion_timings::*;
    const Phase phases[] = {&pinion_timings::a, &pinion_timings::b1, &pinion_timings::c};
    timings.sort += marks.between(Mark(witnessSplit + step % 2), witnessSorted);
    Mark before = witnessSorted;
    for (int i = firstArray(step); i < 3; i += arrayStep(step)) {
      timings.*phases[i] += marks.between(before, Mark(sumA + i));
      before = Mark(sumA + i);
    }
    if (hasB(step)) timings.b2 += marks.between(witnessSorted, sumB2);
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
    splitQuotient(stream, part, layout_.quotient.passes - 1);
  }

  void splitQuotient(Stream &stream, const Part &part, int pass) {
    stream.record((*slot_[part.slot].marks)[Mark(quotientSplit + pass % 2)]);
    quotientPlan_.split(stream, vectors_.data(), false, int(part.count), pass);
  }

  // sumQuotient enqueues a pass. It waits for the digits, and so for the pass before.
  void sumQuotient(Stream &stream, const Part &part, int pass) {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    quotientPlan_.wait();
    const bool first = pass == layout_.quotient.passes - 1;
    if (!first) addQuotientTimes(slot.earlier, marks, pass + 1);
    quotientPlan_.sort(stream);
    stream.record(marks[quotientSorted]);
    const SumsOf<C> to = first ? totals() : sumsOfPass();
    quotientSums_.run(stream, quotientPlan_, static_cast<const G1 *>(pointsH_.data()), to.h);
    if (!first) carryOver(stream, layout_.quotient, totals().h, to.h, part.count);
    stream.record(marks[sumH]);
  }

  void addQuotientTimes(pinion_timings &timings, Marks &marks, int pass) {
    timings.sort += marks.between(Mark(quotientSplit + pass % 2), quotientSorted);
    timings.h += marks.between(quotientSorted, sumH);
  }

  // finish enqueues what is left once all sums are there.
  void finish(Stream &stream, const Part &part) {
    Slot &slot = slot_[part.slot];
    Marks &marks = *slot.marks;
    const unsigned threads = 64;
    stream.wait(marks[sumB2]);
    stream.wait(marks[sumH]);
    stream.launch("finish", Shape{blocksFor(part.count, threads), threads, 0, 3}, pinion::finish<C>, totals(), constants_, slot.proofs.data(), part.count);
    stream.copyOut(slot.foundBad.data(), slot.bad.data(), part.count * sizeof(unsigned));
    stream.copyOut(slot.foundProofs.data(), slot.proofs.data(), part.count * sizeof(Proof<C>));
    stream.record(marks[computeDone]);
  }

  // totals are the sums; sumsOfPass is where a pass puts its own before they are carried over.
  SumsOf<C> totals() const { return sumsAt(0); }
  SumsOf<C> sumsOfPass() const { return sumsAt(1); }
  SumsOf<C> sumsAt(size_t set) const {
    const size_t K = layout_.batch;
    Xyzz<F1> *first = results1_.data() + set * 6 * K;
    return {first, first + K, first + 2 * K, first + 3 * K, first + 4 * K, first + 5 * K, results2_.data() + set * K};
  }

  std::string badElement(unsigned input, unsigned element) const {
    const std::string where = "input " + std::to_string(input) + ": ";
    if (element == 0) return where + "element 0 of the witness is not 1";
    if (element >= vars_) return where + "the blinding is not below the order of the group";
    return where + "element " + std::to_string(element) + " of the witness is not below the order of the group";
  }

  Device &device_;
  Layout<C> layout_;
  size_t vars_;
  bool powers_;
  Domain<S> domain_;
  Buffer<S> coefficients_;
  Matrix<S> a_, b_;
  Buffer<G1> pointsA_, pointsB1_, pointsC_;
  Buffer<G2> pointsB2_;
  Buffer<G1> pointsH_;
  Buffer<uint32_t> inB_;  // the wires that are in B, if they have a plan of their own
  Subset inSubset_;
  Constants<C> constants_;
  Secret<S> vectors_;  // a, b, c
  Slot slot_[slots];
  Plan<S> witnessPlan_, quotientPlan_;
  Sums<F1> witnessSums_;
  Sums<F2> witnessSums2_;
  Sums<F1> quotientSums_;
  Secret<Xyzz<F1>> results1_;
  Secret<Xyzz<F2>> results2_;
};

}  // namespace pinion

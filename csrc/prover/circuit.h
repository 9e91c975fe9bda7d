// A loaded circuit, whatever its curve.
#pragma once

#include <chrono>
#include <memory>

#include "../device/device.h"

namespace pinion {

// Mark is a moment in the work on one part of a task. The digits of a step or pass are begun before the times of the one before are read,
// so that even and odd ones have a mark each.
enum Mark { uploadBegun, uploadDone, computeBegun, witnessSplit, witnessSplitOdd, witnessSorted, synthesized, transformed, quotientSplit, quotientSplitOdd, quotientSorted,
            sumA, sumB1, sumC, sumB2, sumH, computeDone, markCount };

// Marks are the events of a slot.
struct Marks {
  explicit Marks(Device &device);
  Event &operator[](Mark m) { return *events[m]; }
  float between(Mark from, Mark to) { return events[to]->since(*events[from]); }
  std::unique_ptr<Event> events[markCount];
};

// Streams are where the work on a part runs side by side: the sums over the witness in G1 and all that comes last, the sum in G2, and
// the quotient with its sum.
struct Streams {
  explicit Streams(Device &device) : witness(device), second(device), quotient(device) {}
  Stream witness, second, quotient;
};

// Part is the inputs of a task that are computed at once: they go through one slot.
struct Part {
  const pinion_input *inputs;
  unsigned first, count;  // of the task's inputs
  unsigned slot;
};

// Circuit is a key on the device, and memory for the computation of batch() proofs and the upload of as many more, in its two slots.
// Calls for one part come in the order in which they stand here: upload and uploaded from the thread that uploads, the others from the
// one that computes. They throw Failure.
class Circuit {
 public:
  static constexpr unsigned slots = 2;

  virtual ~Circuit() = default;
  virtual unsigned batch() const = 0;
  virtual size_t proofBytes() const = 0;

  // upload enqueues the copies of the witnesses.
  virtual void upload(Stream &copies, const Part &part) = 0;
  // uploaded waits for them.
  virtual void uploaded(const Part &part) = 0;
  // start enqueues what asks the device nothing: the check of the witnesses, their digits, the quotient. It waits for what the streams did
  // before, and for the digits.
  virtual void start(Streams &streams, const Part &part) = 0;
  // prove enqueues the rest. It waits for the quotient.
  virtual void prove(Streams &streams, const Part &part) = 0;
  // done is whether collect would return at once.
  virtual bool done(const Part &part) = 0;
  // collect waits, writes the proofs of the part, and adds its times.
  virtual void collect(const Part &part, unsigned char *proofs, pinion_timings &timings) = 0;
  virtual std::shared_ptr<Marks> marks(unsigned slot) = 0;
};

pinion_footprint footprintOf(Device &device, const pinion_key &key);
std::unique_ptr<Circuit> load(Device &device, const pinion_key &key);

}  // namespace pinion

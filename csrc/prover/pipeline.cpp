#include "pipeline.h"

#include <algorithm>
#include <cstring>

namespace pinion {

namespace {

// patience is how long the computing thread lets a device be alone before it looks whether more work has come.
constexpr auto patience = std::chrono::microseconds(100);

Failure current() {
  try {
    throw;
  } catch (const Failure &failure) {
    return failure;
  } catch (const std::exception &e) {
    return Failure(PINION_INTERNAL, e.what());
  }
}

void settle(Stream &stream) {
  try {
    stream.synchronize();
  } catch (const Failure &) {  // of a lost device: nothing runs any more
  }
}

void settle(Streams &streams) {
  for (Stream *stream : {&streams.witness, &streams.second, &streams.quotient}) settle(*stream);
}

}  // namespace

Task::Task(Circuit &circuit, const pinion_input *inputs, unsigned count)
    : circuit_(circuit), inputs_(inputs, inputs + count), proofs_(count * circuit.proofBytes()) {}

// The blinding is secret.
Task::~Task() { explicit_bzero(inputs_.data(), inputs_.size() * sizeof(pinion_input)); }

Pipeline::Pipeline(int ordinal) : device_(ordinal), copies_(device_), kernels_(device_) {
  uploader_ = std::thread([this] { uploads(); });
  computer_ = std::thread([this] { computes(); });
}

Pipeline::~Pipeline() {
  {
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return std::all_of(begun_.begin(), begun_.end(), [](const Task *task) { return task->done_; }); });
    closing_ = true;
    changed_.notify_all();
  }
  uploader_.join();
  computer_.join();
}

void Pipeline::begin(Task &task) {
  device_.check();
  Lock lock(mutex_);
  if (begun_.size() >= overlap) throw Failure(PINION_INVALID, "as many tasks as may overlap are begun and not finished");
  begun_.insert(&task);
  task.begun_ = std::chrono::steady_clock::now();
  waiting_.push_back(&task);
  changed_.notify_all();
}

bool Pipeline::uploaded(const Task &task) {
  Lock lock(mutex_);
  return task.uploaded_;
}

bool Pipeline::done(const Task &task) {
  Lock lock(mutex_);
  return task.done_;
}

void Pipeline::waitUploaded(const Task &task) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return task.uploaded_; });
}

void Pipeline::waitDone(const Task &task) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return task.done_; });
}

void Pipeline::finish(Task &task, void *proofs, size_t size, pinion_timings *timings) {
  Lock lock(mutex_);
  changed_.wait(lock, [&] { return task.done_; });
  if (task.failure_) throw *task.failure_;
  if (size != task.proofs_.size()) {
    throw Failure(PINION_INVALID, "room for proofs of " + std::to_string(size) + " bytes, " + std::to_string(task.proofs_.size()) + " expected");
  }
  std::memcpy(proofs, task.proofs_.data(), size);
  if (timings) *timings = task.timings_;
}

void Pipeline::forget(const Task &task) {
  Lock lock(mutex_);
  begun_.erase(&task);
}

bool Pipeline::busy(const Circuit &circuit) {
  Lock lock(mutex_);
  return std::any_of(begun_.begin(), begun_.end(), [&](const Task *task) { return &task->circuit_ == &circuit; });
}

// uploads is the uploading thread.
void Pipeline::uploads() {
  device_.use();
  Lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closing_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Task &task = *waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    uploadTask(task);
    lock.lock();
    // A task that gives a and b is uploaded when it is done: they go straight to where they are computed with.
    if (!task.inputs_[0].a || task.failure_) task.uploaded_ = true;
    leave(task);
  }
}

void Pipeline::uploadTask(Task &task) {
  const unsigned total = unsigned(task.inputs_.size()), batch = task.circuit_.batch();
  for (unsigned first = 0; first < total; first += batch) {
    Lock lock(mutex_);
    Work work{&task, Part{&task.inputs_[first], first, std::min(batch, total - first), 0}};
    if (!takeSlot(lock, task, work.part.slot)) return;
    task.open_++;
    lock.unlock();
    bool handed = false;
    try {
      task.circuit_.upload(copies_, work.part);
      lock.lock();
      computable_.push_back(work);
      handed = true;
      changed_.notify_all();
      lock.unlock();
      task.circuit_.uploaded(work.part);
    } catch (...) {
      fail(task);
      settle(copies_);
      if (!handed) close(work);
      return;
    }
  }
}

// takeSlot waits for a slot of the task's circuit; false when the task has failed.
bool Pipeline::takeSlot(Lock &lock, Task &task, unsigned &slot) {
  for (;;) {
    if (task.failure_) return false;
    for (slot = 0; slot < Circuit::slots; slot++) {
      if (taken_.insert({&task.circuit_, slot}).second) return true;
    }
    changed_.wait(lock);
  }
}

// computes is the computing thread. It enqueues a part before it collects the one before, so that the device goes from one to the next.
void Pipeline::computes() {
  device_.use();
  Work work;
  while (next(work)) compute(work);
}

// next is the next part; in the meantime the pending one is collected when it is done. False when the pipeline closes.
bool Pipeline::next(Work &work) {
  Lock lock(mutex_);
  while (computable_.empty()) {
    if (!pending_) {
      if (closing_) return false;
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    bool ended = true;
    try {
      ended = pending_->task->circuit_.done(pending_->part);
    } catch (const Failure &) {  // collect says it again
    }
    if (ended) collect();
    lock.lock();
    if (!ended && computable_.empty()) changed_.wait_for(lock, patience);
  }
  work = computable_.front();
  computable_.pop_front();
  return true;
}

void Pipeline::compute(const Work &work) {
  Circuit &circuit = work.task->circuit_;
  bool begun = false;
  {
    Lock lock(mutex_);
    begun = !work.task->failure_;
  }
  try {
    if (begun) circuit.start(kernels_, work.part);
  } catch (...) {
    fail(*work.task);
    begun = false;
  }
  if (pending_) collect();
  if (begun) {
    try {
      measureOverlap(work);
      circuit.prove(kernels_, work.part);
      previous_ = circuit.marks(work.part.slot);
      pending_ = work;
      return;
    } catch (...) {
      fail(*work.task);
    }
  }
  settle(kernels_);
  close(work);
}

// measureOverlap finds how much of a part's upload was while the part before was computed: both are done when it has started.
void Pipeline::measureOverlap(const Work &work) {
  std::shared_ptr<Marks> marks = work.task->circuit_.marks(work.part.slot);
  if (!previous_ || previous_ == marks) return;
  Marks &now = *marks, &then = *previous_;
  const float uploadStart = now[uploadBegun].since(then[computeBegun]);
  const float uploadEnd = now[uploadDone].since(then[computeBegun]);
  const float computeEnd = then[computeDone].since(then[computeBegun]);
  const float both = std::min(uploadEnd, computeEnd) - std::max(uploadStart, 0.0f);
  if (both > 0) {
    Lock lock(mutex_);
    work.task->timings_.overlapped += both;
  }
}

void Pipeline::collect() {
  const Work work = *pending_;
  pending_.reset();
  Task &task = *work.task;
  try {
    pinion_timings timings{};
    task.circuit_.collect(work.part, task.proofs_.data() + work.part.first * task.circuit_.proofBytes(), timings);
    Lock lock(mutex_);
    timings.overlapped = task.timings_.overlapped;
    float *sum = &task.timings_.upload;
    for (const float *add : {&timings.upload, &timings.synthesis, &timings.ntt, &timings.sort, &timings.a, &timings.b1, &timings.b2, &timings.c, &timings.h, &timings.finish}) *sum++ += *add;
  } catch (...) {
    fail(task);
    settle(kernels_);
  }
  close(work);
}

// close gives a part's slot back.
void Pipeline::close(const Work &work) {
  Lock lock(mutex_);
  taken_.erase({&work.task->circuit_, work.part.slot});
  leave(*work.task);
}

// leave ends a task when nothing of it is under way any more. The lock is held.
void Pipeline::leave(Task &task) {
  if (--task.open_ == 0) {
    task.timings_.total = std::chrono::duration<float, std::milli>(std::chrono::steady_clock::now() - task.begun_).count();
    task.uploaded_ = task.done_ = true;
  }
  changed_.notify_all();
}

void Pipeline::fail(Task &task) {
  Failure failure = current();
  Lock lock(mutex_);
  if (!task.failure_) task.failure_ = failure;
}

}  // namespace pinion

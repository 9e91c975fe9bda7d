// The order of the work on a device.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "circuit.h"

namespace pinion {

class Pipeline;

// Task is some proofs of one circuit, under way. What changes is guarded by its pipeline's mutex.
class Task {
 public:
  Task(Circuit &circuit, const pinion_input *inputs, unsigned count);
  ~Task();

 private:
  friend class Pipeline;
  Circuit &circuit_;
  std::vector<pinion_input> inputs_;
  std::vector<unsigned char> proofs_;
  pinion_timings timings_{};
  std::chrono::steady_clock::time_point begun_;
  unsigned open_ = 1;  // parts between upload and collection, and one for the upload itself
  bool uploaded_ = false, done_ = false;
  std::optional<Failure> failure_;  // the first
};

// Pipeline does tasks in the order in which they begin, in parts, on two threads with streams of their own: one uploads a part
// while the other computes the one before. Its own methods may be called from any thread.
class Pipeline {
 public:
  static constexpr unsigned overlap = 2;

  explicit Pipeline(int ordinal);
  // The pipeline waits for what has begun.
  ~Pipeline();
  Device &device() { return device_; }

  // begin takes the task in, unless overlap of them are begun and not finished.
  void begin(Task &task);
  bool uploaded(const Task &task);
  bool done(const Task &task);
  void waitUploaded(const Task &task);
  void waitDone(const Task &task);
  // finish waits, and writes the proofs and timings, or throws why there are none.
  void finish(Task &task, void *proofs, size_t size, pinion_timings *timings);
  // forget takes a task that is done out of the books: it may go.
  void forget(const Task &task);
  // busy is whether a task of the circuit is begun and not finished.
  bool busy(const Circuit &circuit);

 private:
  struct Work {
    Task *task;
    Part part;
  };
  using Lock = std::unique_lock<std::mutex>;

  void uploads();
  void uploadTask(Task &task);
  bool takeSlot(Lock &lock, Task &task, unsigned &slot);
  void computes();
  bool next(Work &work);
  void compute(const Work &work);
  void collect();
  void measureOverlap(const Work &work);
  void close(const Work &work);
  void leave(Task &task);
  void fail(Task &task);

  Device device_;
  Stream copies_;
  Streams kernels_;

  std::mutex mutex_;  // of all that follows, but for what is the computing thread's alone
  std::condition_variable changed_;
  std::deque<Task *> waiting_;
  std::deque<Work> computable_;
  std::set<const Task *> begun_;
  std::set<std::pair<const Circuit *, unsigned>> taken_;  // slots
  bool closing_ = false;

  std::optional<Work> pending_;      // enqueued and not collected
  std::shared_ptr<Marks> previous_;  // of the last part that was enqueued
  std::thread uploader_, computer_;
};

}  // namespace pinion

// A library with the interface of pinion.h and no device behind it, for tests of the binding. stub_set says what is wrong with it. A task
// is uploaded, and done, when the test says so by stub_allow, and ends as stub_end says. Compiled with LACKS, it has no pinned memory.
#include <cstddef>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <vector>

#include "pinion.h"

enum { VERSION, COUNT, CARDS, OPEN, LOCK, SETTINGS };
static int32_t setting[SETTINGS] = {PINION_ABI, PINION_OK, 1, PINION_OK, PINION_OK};

static std::mutex mutex;
static std::condition_variable changed;
static uint64_t allowed[2];             // tasks that may be uploaded, and done
static int32_t ending;                  // code of what ends from now on
static std::vector<unsigned char> answer; // proofs of the next task
static unsigned char blinding[64];      // r and s of the last input

struct pinion_task {
  uint64_t number;
};
static uint64_t tasks;

static int32_t fail(int32_t code, pinion_error *error) {
  if (error && code) {
    error->code = code;
    snprintf(error->message, sizeof error->message, "the stub says %d", int(code));
  }
  return code;
}

extern "C" {

uint32_t pinion_abi_version(void) { return setting[VERSION]; }

int32_t pinion_device_count(int32_t *count, pinion_error *error) {
  if (!setting[COUNT]) *count = setting[CARDS];
  return fail(setting[COUNT], error);
}

int32_t pinion_device_open(int32_t, pinion_device **device, pinion_error *e) {
  *device = reinterpret_cast<pinion_device *>(&mutex);
  return fail(setting[OPEN], e);
}

int32_t pinion_device_close(pinion_device *, pinion_error *) { return PINION_OK; }

int32_t pinion_device_describe(pinion_device *, pinion_device_info *info, pinion_error *) {
  std::memset(info, 0, sizeof *info);
  std::strcpy(info->name, "nothing");
  std::strcpy(info->kind, "stub");
  info->memory = 2000;
  info->free = 1000;
  info->overlap = 2;
  return PINION_OK;
}

int32_t pinion_circuit_footprint(pinion_device *, const pinion_key *key, pinion_footprint *footprint, pinion_error *) {
  *footprint = {int64_t(key->vars), 0, 1, 0};
  return PINION_OK;
}

int32_t pinion_circuit_load(pinion_device *, const pinion_key *key, pinion_circuit **circuit, pinion_error *e) {
  if (key->touch(key->context, key->points_a, key->vars * 64)) return fail(PINION_INVALID, e);
  *circuit = reinterpret_cast<pinion_circuit *>(&mutex);
  return PINION_OK;
}

int32_t pinion_circuit_unload(pinion_circuit *, pinion_error *) { return PINION_OK; }

int32_t pinion_multiples(pinion_device *, uint32_t, uint32_t, const void *, uint64_t, void *, pinion_error *) { return PINION_OK; }

int32_t pinion_task_begin(pinion_circuit *, const pinion_input *inputs, uint32_t count, pinion_task **task, pinion_error *) {
  std::memcpy(blinding, inputs[count - 1].r, 32);
  std::memcpy(blinding + 32, inputs[count - 1].s, 32);
  *task = new pinion_task{++tasks};
  return PINION_OK;
}

static int32_t wait(int stage, const pinion_task *task, pinion_error *e) {
  std::unique_lock<std::mutex> lock(mutex);
  changed.wait(lock, [=] { return ending == PINION_FAULT || allowed[stage] >= task->number; });
  return fail(ending, e);
}

int32_t pinion_task_wait_uploaded(pinion_task *task, pinion_error *e) { return wait(0, task, e); }
int32_t pinion_task_wait_done(pinion_task *task, pinion_error *e) { return wait(1, task, e); }

int32_t pinion_task_finish(pinion_task *task, void *proofs, uint64_t size, pinion_timings *timings, pinion_error *e) {
  delete task;
  if (ending) return fail(ending, e);
  std::memset(proofs, 0, size);
  std::memcpy(proofs, answer.data(), answer.size() < size ? answer.size() : size);
  *timings = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  return PINION_OK;
}

int32_t pinion_bench(pinion_device *, const pinion_bench_case *, pinion_bench_result *, pinion_error *e) { return fail(PINION_INTERNAL, e); }

#ifndef LACKS
int32_t pinion_host_register(int32_t, void *, uint64_t, int32_t, pinion_error *e) { return fail(setting[LOCK], e); }
int32_t pinion_host_unregister(int32_t, void *, pinion_error *e) { return fail(setting[LOCK], e); }
#endif

// stub_set changes the version, what pinion_device_count returns and counts, what pinion_device_open returns, and what locking and
// unlocking memory returns.
PINION_API void stub_set(int32_t what, int32_t value) { setting[what] = value; }

// stub_allow lets one task more pass a stage: 0 uploaded, 1 done.
PINION_API void stub_allow(int32_t stage) {
  std::lock_guard<std::mutex> lock(mutex);
  allowed[stage]++;
  changed.notify_all();
}

// stub_end sets how tasks end from now on, and what they answer.
PINION_API void stub_end(int32_t code, const void *proofs, uint64_t size) {
  std::lock_guard<std::mutex> lock(mutex);
  ending = code;
  const unsigned char *bytes = static_cast<const unsigned char *>(proofs);
  answer.assign(bytes, bytes + size);
  changed.notify_all();
}

// stub_blinding copies r and s of the last input.
PINION_API void stub_blinding(void *to) { std::memcpy(to, blinding, sizeof blinding); }

// The sizes of the types, and where their fields are, as this compiler lays them out.
PINION_API uint64_t stub_layout(uint64_t i) {
#define AT(type, field) offsetof(type, field)
  static const uint64_t list[] = {
      sizeof(pinion_error), AT(pinion_error, message),
      sizeof(pinion_device_info), AT(pinion_device_info, kind), AT(pinion_device_info, memory), AT(pinion_device_info, free),
      AT(pinion_device_info, used), AT(pinion_device_info, ordinal), AT(pinion_device_info, overlap),
      sizeof(pinion_matrix), AT(pinion_matrix, entries),
      sizeof(pinion_key), AT(pinion_key, batch), AT(pinion_key, quotient), AT(pinion_key, exponents), AT(pinion_key, vars), AT(pinion_key, public_wires), AT(pinion_key, domain),
      AT(pinion_key, rows), AT(pinion_key, coefficients), AT(pinion_key, alpha1), AT(pinion_key, delta2), AT(pinion_key, points_a),
      AT(pinion_key, points_b1), AT(pinion_key, points_b2), AT(pinion_key, points_c), AT(pinion_key, points_h), AT(pinion_key, a),
      AT(pinion_key, b), AT(pinion_key, coefficient), AT(pinion_key, touch), AT(pinion_key, context),
      sizeof(pinion_footprint), AT(pinion_footprint, pinned), AT(pinion_footprint, batch),
      sizeof(pinion_input), AT(pinion_input, a), AT(pinion_input, b), AT(pinion_input, r), AT(pinion_input, s),
      sizeof(pinion_timings), AT(pinion_timings, ntt), AT(pinion_timings, sort), AT(pinion_timings, a), AT(pinion_timings, h),
      AT(pinion_timings, finish), AT(pinion_timings, total), AT(pinion_timings, overlapped),
      sizeof(pinion_bench_case), AT(pinion_bench_case, repetitions), AT(pinion_bench_case, seed),
      sizeof(pinion_bench_result), AT(pinion_bench_result, bits), AT(pinion_bench_result, operations), AT(pinion_bench_result, found),
      AT(pinion_bench_result, expected),
  };
  return i < sizeof list / sizeof *list ? list[i] : ~uint64_t(0);
}
}

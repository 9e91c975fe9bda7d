// The C interface over the pipeline: handles, and failures as codes.
#include <cstring>
#include <mutex>
#include <set>

#include "../bench/bench.h"
#include "../setup/multiples.h"
#include "host.h"
#include "pipeline.h"

using namespace pinion;

struct pinion_device {
  explicit pinion_device(int ordinal) : ordinal(ordinal), pipeline(ordinal) {}
  int ordinal;
  Pipeline pipeline;
  std::set<pinion_circuit *> circuits;
  std::set<pinion_task *> tasks;
};

struct pinion_circuit {
  pinion_device *device;
  std::unique_ptr<Circuit> circuit;
};

struct pinion_task {
  pinion_task(pinion_circuit *owner, const pinion_input *inputs, unsigned count) : device(owner->device), task(*owner->circuit, inputs, count) {}
  pinion_device *device;
  Task task;
};

namespace {

// handles are those that callers hold.
std::mutex handlesMutex;
std::set<const void *> handles;
std::set<int> opened;

void hold(const void *handle) {
  std::lock_guard<std::mutex> lock(handlesMutex);
  handles.insert(handle);
}

void drop(const void *handle) {
  std::lock_guard<std::mutex> lock(handlesMutex);
  handles.erase(handle);
}

void require(bool good, const char *what) {
  if (!good) throw Failure(PINION_INVALID, what);
}

void known(const void *handle, const char *what) {
  std::lock_guard<std::mutex> lock(handlesMutex);
  require(handles.count(handle) != 0, what);
}

void known(pinion_device *device) { known(device, "no device with this handle"); }
void known(pinion_circuit *circuit) { known(circuit, "no circuit with this handle"); }
void known(pinion_task *task) { known(task, "no task with this handle"); }

int32_t report(pinion_error *error, int32_t code, const char *message) {
  if (error) {
    error->code = code;
    std::strncpy(error->message, message, sizeof error->message - 1);
    error->message[sizeof error->message - 1] = 0;
  }
  return code;
}

// guarded runs body and turns what it throws into a code.
template <class Body>
int32_t guarded(pinion_error *error, Body body) {
  try {
    body();
    return report(error, PINION_OK, "");
  } catch (const Failure &failure) {
    return report(error, failure.code(), failure.what());
  } catch (const std::bad_alloc &) {
    return report(error, PINION_OUT_OF_MEMORY, "host memory");
  } catch (const std::exception &e) {
    return report(error, PINION_INTERNAL, e.what());
  } catch (...) {
    return report(error, PINION_INTERNAL, "unknown failure");
  }
}

// Claim is the one handle of a device that a process may have.
struct Claim {
  explicit Claim(int ordinal) : ordinal(ordinal) {
    std::lock_guard<std::mutex> lock(handlesMutex);
    if (!opened.insert(ordinal).second) throw Failure(PINION_INVALID, "device " + std::to_string(ordinal) + " is open already");
  }
  ~Claim() {
    if (kept) return;
    std::lock_guard<std::mutex> lock(handlesMutex);
    opened.erase(ordinal);
  }
  int ordinal;
  bool kept = false;
};

// closeTask waits for a task and drops it.
void closeTask(pinion_task *task) {
  task->device->pipeline.waitDone(task->task);
  task->device->pipeline.forget(task->task);
  task->device->tasks.erase(task);
  drop(task);
  delete task;
}

using MultiplesOf = void (*)(Device &, const void *, size_t, void *);

MultiplesOf multiplesIn(uint32_t curve, uint32_t group) {
  require(curve == PINION_BN254 || curve == PINION_BLS12_381, "multiples on no known curve");
  require(group == PINION_G1 || group == PINION_G2, "multiples in no known group");
  if (curve == PINION_BN254) return group == PINION_G1 ? multiplesOf<Bn254::G1, Bn254Fr> : multiplesOf<Bn254::G2, Bn254Fr>;
  return group == PINION_G1 ? multiplesOf<Bls12381::G1, Bls12381Fr> : multiplesOf<Bls12381::G2, Bls12381Fr>;
}

void closeCircuit(pinion_circuit *circuit) {
  drop(circuit);
  circuit->device->circuits.erase(circuit);
  delete circuit;
}

}  // namespace

extern "C" {

uint32_t pinion_abi_version(void) { return PINION_ABI; }

int32_t pinion_device_count(int32_t *count, pinion_error *error) {
  return guarded(error, [&] {
    require(count, "no place for the count");
    *count = Device::count();
  });
}

int32_t pinion_device_open(int32_t ordinal, pinion_device **device, pinion_error *error) {
  return guarded(error, [&] {
    require(device, "no place for the device");
    Claim claim(ordinal);
    *device = new pinion_device(ordinal);
    hold(*device);
    claim.kept = true;
  });
}

int32_t pinion_device_close(pinion_device *device, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    if (!device->pipeline.device().lost()) require(device->circuits.empty(), "a circuit is loaded");
    while (!device->tasks.empty()) closeTask(*device->tasks.begin());
    while (!device->circuits.empty()) closeCircuit(*device->circuits.begin());
    drop(device);
    const int ordinal = device->ordinal;
    delete device;
    std::lock_guard<std::mutex> lock(handlesMutex);
    opened.erase(ordinal);
  });
}

int32_t pinion_device_describe(pinion_device *device, pinion_device_info *info, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(info, "no place for the description");
    device->pipeline.device().use();
    device->pipeline.device().describe(info);
    info->overlap = int32_t(Pipeline::overlap);
  });
}

int32_t pinion_device_health(pinion_device *device, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    device->pipeline.device().use();
    device->pipeline.device().check();
  });
}

int32_t pinion_circuit_footprint(pinion_device *device, const pinion_key *key, pinion_footprint *footprint, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(key && footprint, "no key, or no place for its footprint");
    device->pipeline.device().use();
    *footprint = footprintOf(device->pipeline.device(), *key);
  });
}

int32_t pinion_circuit_load(pinion_device *device, const pinion_key *key, pinion_circuit **circuit, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(key && circuit, "no key, or no place for the circuit");
    device->pipeline.device().use();
    device->pipeline.device().check();
    std::unique_ptr<pinion_circuit> loaded(new pinion_circuit{device, load(device->pipeline.device(), *key)});
    hold(loaded.get());
    device->circuits.insert(loaded.get());
    *circuit = loaded.release();
  });
}

int32_t pinion_circuit_unload(pinion_circuit *circuit, pinion_error *error) {
  return guarded(error, [&] {
    known(circuit);
    require(!circuit->device->pipeline.busy(*circuit->circuit), "a task uses the circuit");
    circuit->device->pipeline.device().use();
    closeCircuit(circuit);
  });
}

int32_t pinion_multiples(pinion_device *device, uint32_t curve, uint32_t group, const void *scalars, uint64_t n, void *points, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    const MultiplesOf multiples = multiplesIn(curve, group);
    require(n == 0 || (scalars && points), "no scalars, or no place for the points");
    device->pipeline.device().use();
    device->pipeline.device().check();
    if (n != 0) multiples(device->pipeline.device(), scalars, n, points);
  });
}

int32_t pinion_task_begin(pinion_circuit *circuit, const pinion_input *inputs, uint32_t count, pinion_task **task, pinion_error *error) {
  return guarded(error, [&] {
    known(circuit);
    require(inputs && count > 0 && task, "no inputs, or no place for the task");
    for (uint32_t i = 0; i < count; i++) {
      require(inputs[i].witness, "an input without a witness");
      require(!inputs[i].a == !inputs[i].b, "one of a and b without the other");
      require(!inputs[i].a == !inputs[0].a, "a and b with some inputs and not with others");
    }
    circuit->device->pipeline.device().use();
    std::unique_ptr<pinion_task> begun(new pinion_task(circuit, inputs, count));
    circuit->device->pipeline.begin(begun->task);
    hold(begun.get());
    circuit->device->tasks.insert(begun.get());
    *task = begun.release();
  });
}

int32_t pinion_task_wait_uploaded(pinion_task *task, pinion_error *error) {
  return guarded(error, [&] {
    known(task);
    task->device->pipeline.waitUploaded(task->task);
  });
}

int32_t pinion_task_wait_done(pinion_task *task, pinion_error *error) {
  return guarded(error, [&] {
    known(task);
    task->device->pipeline.waitDone(task->task);
  });
}

int32_t pinion_task_uploaded(pinion_task *task, int32_t *yes, pinion_error *error) {
  return guarded(error, [&] {
    known(task);
    require(yes, "no place for the answer");
    *yes = task->device->pipeline.uploaded(task->task);
  });
}

int32_t pinion_task_done(pinion_task *task, int32_t *yes, pinion_error *error) {
  return guarded(error, [&] {
    known(task);
    require(yes, "no place for the answer");
    *yes = task->device->pipeline.done(task->task);
  });
}

int32_t pinion_task_finish(pinion_task *task, void *proofs, uint64_t size, pinion_timings *timings, pinion_error *error) {
  return guarded(error, [&] {
    known(task);
    struct Ending {
      pinion_task *task;
      ~Ending() { closeTask(task); }
    } ending{task};
    require(proofs, "no room for the proofs");
    task->device->pipeline.finish(task->task, proofs, size, timings);
  });
}

int32_t pinion_host_alloc(int32_t ordinal, uint64_t size, void **memory, pinion_error *error) {
  return guarded(error, [&] {
    require(memory && size > 0, "no size, or no place for the memory");
    *memory = host::allocate(ordinal, size);
  });
}

int32_t pinion_host_free(int32_t ordinal, void *memory, pinion_error *error) {
  return guarded(error, [&] { host::release(ordinal, memory); });
}

int32_t pinion_host_register(int32_t ordinal, void *memory, uint64_t size, int32_t read_only, pinion_error *error) {
  return guarded(error, [&] {
    require(memory && size > 0, "no memory");
    host::lock(ordinal, memory, size, read_only != 0);
  });
}

int32_t pinion_host_unregister(int32_t ordinal, void *memory, pinion_error *error) {
  return guarded(error, [&] { host::unlock(ordinal, memory); });
}

int32_t pinion_bench(pinion_device *device, const pinion_bench_case *what, pinion_bench_result *result, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(what && result, "nothing to measure, or no place for the result");
    device->pipeline.device().use();
    device->pipeline.device().check();
    pinion_bench_result made{};
    measure(device->pipeline.device(), *what, made);
    *result = made;
  });
}

#ifndef __CUDACC__
int32_t pinion_software_fail(pinion_device *device, int32_t what, uint64_t n, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    device->pipeline.device().arm(what, n);
  });
}

int32_t pinion_software_count(pinion_device *device, int32_t what, uint64_t *count, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(count, "no place for the count");
    *count = device->pipeline.device().happened(what);
  });
}

int32_t pinion_software_pinned(pinion_device *device, int64_t *now, int64_t *most, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(now && most, "no place for the answer");
    device->pipeline.device().pinned(*now, *most);
  });
}

int32_t pinion_software_set(pinion_device *device, int32_t what, uint64_t value, pinion_error *error) {
  return guarded(error, [&] {
    known(device);
    require(device->circuits.empty(), "a circuit is loaded");
    device->pipeline.device().set(what, value);
  });
}
#endif

}  // extern "C"

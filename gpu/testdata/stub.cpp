// A library with the interface of pinion.h and nothing behind it, for tests of the binding. Macros say what is wrong with it:
//   ABI    its version           CODE   what pinion_device_count returns
//   CARDS  how many there are    LACKS  leave the pinned memory out
#include <cstddef>
#include <cstdio>

#include "pinion.h"

#ifndef ABI
#define ABI PINION_ABI
#endif
#ifndef CODE
#define CODE PINION_OK
#endif
#ifndef CARDS
#define CARDS 1
#endif

static int32_t fail(int32_t code, pinion_error *error) {
  if (error && code) {
    error->code = code;
    snprintf(error->message, sizeof error->message, "the stub says %d", int(code));
  }
  return code;
}

extern "C" {

uint32_t pinion_abi_version(void) { return ABI; }

int32_t pinion_device_count(int32_t *count, pinion_error *error) {
  if (!CODE) *count = CARDS;
  return fail(CODE, error);
}

int32_t pinion_device_open(int32_t, pinion_device **, pinion_error *e) { return fail(PINION_OUT_OF_MEMORY, e); }
int32_t pinion_device_close(pinion_device *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_device_describe(pinion_device *, pinion_device_info *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_circuit_footprint(pinion_device *, const pinion_key *, pinion_footprint *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_circuit_load(pinion_device *, const pinion_key *, pinion_circuit **, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_circuit_unload(pinion_circuit *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_task_begin(pinion_circuit *, const pinion_input *, uint32_t, pinion_task **, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_task_wait_uploaded(pinion_task *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_task_wait_done(pinion_task *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
int32_t pinion_task_finish(pinion_task *, void *, uint64_t, pinion_timings *, pinion_error *e) { return fail(PINION_INTERNAL, e); }
#ifndef LACKS
int32_t pinion_host_register(int32_t, void *, uint64_t, int32_t, pinion_error *e) { return fail(PINION_OUT_OF_MEMORY, e); }
int32_t pinion_host_unregister(int32_t, void *, pinion_error *e) { return fail(PINION_INVALID, e); }
#endif

// The sizes of the types, and where their fields are, as this compiler lays them out.
PINION_API uint64_t stub_layout(uint64_t i) {
#define AT(type, field) offsetof(type, field)
  static const uint64_t list[] = {
      sizeof(pinion_error), AT(pinion_error, message),
      sizeof(pinion_device_info), AT(pinion_device_info, kind), AT(pinion_device_info, memory), AT(pinion_device_info, free),
      AT(pinion_device_info, used), AT(pinion_device_info, ordinal), AT(pinion_device_info, overlap),
      sizeof(pinion_matrix), AT(pinion_matrix, entries),
      sizeof(pinion_key), AT(pinion_key, batch), AT(pinion_key, vars), AT(pinion_key, public_wires), AT(pinion_key, domain),
      AT(pinion_key, rows), AT(pinion_key, coefficients), AT(pinion_key, alpha1), AT(pinion_key, delta2), AT(pinion_key, points_a),
      AT(pinion_key, points_b1), AT(pinion_key, points_b2), AT(pinion_key, points_c), AT(pinion_key, points_h), AT(pinion_key, a),
      AT(pinion_key, b), AT(pinion_key, coefficient), AT(pinion_key, touch), AT(pinion_key, context),
      sizeof(pinion_footprint), AT(pinion_footprint, pinned), AT(pinion_footprint, batch),
      sizeof(pinion_input), AT(pinion_input, a), AT(pinion_input, b), AT(pinion_input, r), AT(pinion_input, s),
      sizeof(pinion_timings), AT(pinion_timings, ntt), AT(pinion_timings, sort), AT(pinion_timings, a), AT(pinion_timings, h),
      AT(pinion_timings, finish), AT(pinion_timings, total), AT(pinion_timings, overlapped),
  };
  return i < sizeof list / sizeof *list ? list[i] : ~uint64_t(0);
}
}

/*
 * pinion.h: Groth16 proofs on one device, for BN254 and BLS12-381.
 *
 * Two libraries have this interface: libpinion_cuda.so for NVIDIA cards, and libpinion_software.so, which runs the same kernels on
 * the CPU, block after block, for tests.
 *
 * Results. Every function that can fail returns a code, PINION_OK or another, and fills *error (which may be NULL) with the code and
 * a message. On failure out-parameters are left as they were. No function ends the process, and nothing is thrown across this line.
 *
 * Threads. One thread at a time may call into a device: the device, its circuits and its tasks. Different devices are independent.
 * pinion_abi_version, pinion_device_count, pinion_circuit_footprint, the pinion_task_wait_ and the pinion_host_ functions may be called
 * from any thread, beside a call into the device.
 *
 * Ownership. A handle is owned by the caller until it is given back: pinion_device_close, pinion_circuit_unload,
 * pinion_task_finish. Buffers are the caller's; each function says until when it reads them.
 *
 * Numbers are little-endian. A scalar is 32 bytes. A point is affine, its coordinates in Montgomery form (R = 2^256 on BN254, 2^384 on
 * BLS12-381): G1 is x | y, G2 is x.c0 | x.c1 | y.c0 | y.c1; all zero bytes are the point at infinity.
 */
#ifndef PINION_H
#define PINION_H

#include <stdint.h>

#if defined(__GNUC__)
#define PINION_API __attribute__((visibility("default")))
#else
#define PINION_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The number of this interface. A caller refuses a library whose pinion_abi_version() is another. */
#define PINION_ABI 2

enum {
  PINION_OK = 0,
  PINION_INVALID = 1,       /* an argument or a handle is wrong; nothing was done */
  PINION_NO_DEVICE = 2,     /* no such device, or no driver */
  PINION_OUT_OF_MEMORY = 3, /* of the device or of pinned memory; all that the call took has been given back */
  PINION_WITNESS = 4,       /* an element of a witness is not below r: the message says which one of which input */
  PINION_FAULT = 5,         /* the device is lost: it does no more work, close it */
  PINION_INTERNAL = 6       /* a bug */
};

enum { PINION_BN254 = 1, PINION_BLS12_381 = 2 };

typedef struct pinion_error {
  int32_t code;
  char message[508]; /* ends in a zero byte */
} pinion_error;

typedef struct pinion_device pinion_device;
typedef struct pinion_circuit pinion_circuit;
typedef struct pinion_task pinion_task;

PINION_API uint32_t pinion_abi_version(void);

/* ---- Devices ---- */

typedef struct pinion_device_info {
  char name[256];
  char kind[16];    /* "cuda" or "software" */
  int64_t memory;   /* bytes */
  int64_t free;     /* bytes that an allocation may find */
  int64_t used;     /* bytes that this handle has taken and not given back */
  int32_t ordinal;
  int32_t processors;
  int32_t capability; /* 90 is compute capability 9.0; 0 in software */
  int32_t overlap;    /* tasks that may be begun at once */
} pinion_device_info;

PINION_API int32_t pinion_device_count(int32_t *count, pinion_error *error);
/* Opens the device. A second handle of one device in a process is refused with PINION_INVALID. */
PINION_API int32_t pinion_device_open(int32_t ordinal, pinion_device **device, pinion_error *error);
/* Refused with PINION_INVALID while a circuit is loaded, but for a lost device: its circuits are closed with it. */
PINION_API int32_t pinion_device_close(pinion_device *device, pinion_error *error);
PINION_API int32_t pinion_device_describe(pinion_device *device, pinion_device_info *info, pinion_error *error);
/* PINION_OK, or PINION_FAULT and the first fault. It asks the device, and never waits for work. */
PINION_API int32_t pinion_device_health(pinion_device *device, pinion_error *error);

/* ---- Circuits ---- */

/* A sparse matrix in compressed rows: row i has the entries starts[i] to starts[i+1]. */
typedef struct pinion_matrix {
  const uint32_t *starts;  /* rows + 1 */
  const uint32_t *columns; /* wire of each entry, below vars */
  const uint32_t *values;  /* index of each entry into the coefficients */
  uint64_t entries;        /* below 2^31 */
} pinion_matrix;

/* What the points H are. Z = X^domain - 1, and the domain is the powers of a root of unity of order domain = n: 5^((r-1)/n). */
enum {
  PINION_ODD_COSET = 0, /* as in a zkey: the Lagrange basis on the odd powers of the root of order 2n, over delta. n points */
  PINION_POWERS = 1     /* as in bellman: tau^i Z(tau) / delta, i = 0 to n-2. n points too: the last is at infinity */
};

typedef struct pinion_key {
  uint32_t curve;
  uint32_t batch;        /* most witnesses that are computed at once: memory grows with it. 0: the library chooses by size */
  uint32_t quotient;     /* PINION_ODD_COSET or PINION_POWERS */
  uint32_t exponents;    /* 1: in place of each point of points_a to points_h is a scalar, canonical, and the point is that multiple of
                            the generator of its group, computed on the device while the key is loaded, with up to 256 MiB of its
                            memory beside the circuit's: see pinion_multiples. 0: points */
  uint64_t vars;         /* wires, the constant one included: below 2^31 - 2 */
  uint64_t public_wires; /* the constant one not included */
  uint64_t domain;       /* a power of two, 2 to 2^27 */
  uint64_t rows;         /* of the matrices, at most domain */
  uint64_t coefficients; /* 2 to 2^31 - 1 */
  const void *alpha1, *beta1, *delta1; /* G1 */
  const void *beta2, *delta2;          /* G2 */
  const void *points_a;                /* vars in G1 */
  const void *points_b1;               /* vars in G1 */
  const void *points_b2;               /* vars in G2 */
  const void *points_c;                /* vars - public_wires - 1 in G1 */
  const void *points_h;                /* domain in G1 */
  pinion_matrix a, b;
  const void *coefficient;             /* coefficients x 32 bytes, Montgomery; the first two are 1 and -1 */
  /* Called by the loading thread before it reads a range of what the pointers above point to (but for the single points), each range
   * once, in chunks of some MiB, so that the caller checks one while another is copied. What is not 0 ends the load: PINION_INVALID.
   * NULL: everything is checked already. */
  int32_t (*touch)(void *context, const void *data, uint64_t size);
  void *context;
} pinion_key;

/* What is too large to be computed at once is done in parts: of batch witnesses, and with sums in passes over the digits of scalars. */
typedef struct pinion_footprint {
  int64_t device; /* bytes of device memory from load to unload; a task takes none beside it */
  int64_t pinned; /* bytes of pinned host memory, likewise */
  uint32_t batch; /* witnesses computed at once */
  uint32_t reserved;
} pinion_footprint;

/* What a circuit will take, from the numbers of the key alone: the pointers are not read and may be NULL. */
PINION_API int32_t pinion_circuit_footprint(pinion_device *device, const pinion_key *key, pinion_footprint *footprint, pinion_error *error);
/* Copies the key to the device and returns when it is there: nothing of the key is read later. Points are not checked to be on the
 * curve; indices of the matrices are. */
PINION_API int32_t pinion_circuit_load(pinion_device *device, const pinion_key *key, pinion_circuit **circuit, pinion_error *error);
/* Gives all of it back. Refused with PINION_INVALID while a task uses the circuit. */
PINION_API int32_t pinion_circuit_unload(pinion_circuit *circuit, pinion_error *error);

/* ---- Setup ---- */

enum { PINION_G1 = 1, PINION_G2 = 2 };

/* Writes n multiples of the generator of a curve's group, scalars[i] times it to place i of points. Scalars are canonical, below the
 * order of the group; points are as above. Both are in host memory, read and written until the call returns. The generators are the
 * standard ones, which gnark-crypto, snarkjs and bellman have too. Device memory is taken for the length of the call only: at most
 * 256 MiB, whatever n is. For development setups: whoever knows the scalars of a key can forge proofs. */
PINION_API int32_t pinion_multiples(pinion_device *device, uint32_t curve, uint32_t group, const void *scalars, uint64_t n, void *points, pinion_error *error);

/* ---- Proofs ---- */

typedef struct pinion_input {
  const void *witness; /* vars scalars, canonical; the first is 1 */
  const void *a, *b;   /* A.w and B.w: domain scalars each, Montgomery; or both NULL: the device computes them */
  uint8_t r[32], s[32]; /* the blinding, canonical: secret, uniform below the order of the group */
} pinion_input;

/* Milliseconds. Phases of a batch are summed over its parts; the upload of one part runs beside the kernels of another. So do phases of
 * one part: synthesis to the sum for H, the sums for A, B1 and C, and that for B2 are three lines of work side by side, and their times add
 * up to more than they take together. */
typedef struct pinion_timings {
  float upload, synthesis, ntt;
  float sort;               /* digits and order of the scalars, for all the sums over the witness and for H */
  float a, b1, b2, c, h;    /* the sums; of those that are made at once, the first has the time of all */
  float finish;             /* what is left after the last sum */
  float total;              /* from the first upload's start to the last proof */
  float overlapped;         /* of the upload, while kernels of this task or the one before ran */
} pinion_timings;

/* Enqueues the proofs of inputs[0..count) and returns without waiting (the software device computes when it is asked for results).
 * The inputs array is copied; its buffers are read until the task is uploaded. Pinned buffers are read while other work goes on;
 * others are copied first by the calling thread. At most info.overlap tasks may be begun and not finished. */
PINION_API int32_t pinion_task_begin(pinion_circuit *circuit, const pinion_input *inputs, uint32_t count, pinion_task **task, pinion_error *error);
/* Waits until the buffers of the inputs are no longer read, and until pinion_task_finish would return at once; at the latest when the
 * device is lost, with PINION_FAULT. Each task is waited for by one other thread at a time, and finished after that. They don't hold
 * up calls into the device. (CUDA: cudaSetDevice of the task's card, then cudaEventSynchronize on an event with BlockingSync.) */
PINION_API int32_t pinion_task_wait_uploaded(pinion_task *task, pinion_error *error);
PINION_API int32_t pinion_task_wait_done(pinion_task *task, pinion_error *error);
/* Whether the buffers of the inputs are no longer read: 1 or 0. Doesn't wait. */
PINION_API int32_t pinion_task_uploaded(pinion_task *task, int32_t *yes, pinion_error *error);
/* Whether pinion_task_finish would return at once: 1 or 0. Doesn't wait. */
PINION_API int32_t pinion_task_done(pinion_task *task, int32_t *yes, pinion_error *error);
/* Waits, writes the proofs, each A | B | C as points (G1 | G2 | G1), and ends the task, which is no handle any longer whatever the
 * code is. size is the bytes at proofs: count times the size of a proof, which is 256 on BN254 and 384 on BLS12-381.
 * timings may be NULL. One bad witness fails the whole task. */
PINION_API int32_t pinion_task_finish(pinion_task *task, void *proofs, uint64_t size, pinion_timings *timings, pinion_error *error);

/* ---- Pinned host memory ---- */

/* Page-locked memory, for every device. The ordinal names a device that the process uses anyway, so that no context is made on another
 * card; it needn't be open (any longer). */
PINION_API int32_t pinion_host_alloc(int32_t ordinal, uint64_t size, void **memory, pinion_error *error);
PINION_API int32_t pinion_host_free(int32_t ordinal, void *memory, pinion_error *error);
/* Locks the pages of memory that the caller has mapped; read_only for a map without write permission. */
PINION_API int32_t pinion_host_register(int32_t ordinal, void *memory, uint64_t size, int32_t read_only, pinion_error *error);
PINION_API int32_t pinion_host_unregister(int32_t ordinal, void *memory, pinion_error *error);

/* ---- Measurements ---- */

enum {
  PINION_BENCH_MULTIPLICATIONS = 1, /* products of scalars in registers, and nothing else: what bounds transforms */
  PINION_BENCH_ADDITIONS = 2,       /* additions of an affine point to a sum in registers, likewise: what bounds sums */
  PINION_BENCH_MSM = 3,             /* a sum of products of points by scalars: digits, sort, buckets */
  PINION_BENCH_NTT_DOWN = 4,        /* values on the domain to coefficients */
  PINION_BENCH_NTT_UP = 5,          /* coefficients to values on the odd coset */
  PINION_BENCH_QUOTIENT = 6         /* values of A.w and B.w to those of the quotient on the odd coset */
};

typedef struct pinion_bench_case {
  uint32_t kind, curve;
  uint32_t group;       /* of additions and sums: PINION_G1 or PINION_G2 */
  uint32_t log_size;    /* 2^log_size points, elements, or bare operations (which are rounded to what fills the device) */
  uint32_t tables;      /* of sums: most tables of multiples of the bases, the bases included; 0: what the library chooses */
  uint32_t sparse;      /* of sums: of a thousand scalars so many are zero or one, half and half; the others are uniform */
  uint32_t repetitions; /* that are timed, after one that isn't */
  uint32_t reserved;
  uint64_t seed;        /* of points and scalars */
} pinion_bench_case;

typedef struct pinion_bench_result {
  float least, median, greatest; /* milliseconds, from events on the device */
  uint32_t bits, tables;         /* of sums: of a window, and how many were made */
  uint32_t reserved;
  uint64_t operations; /* products or additions; of a sum, those of points to buckets */
  /* Of the last repetition, for the caller to compare. Sums and additions: the point that came out, and the scalar by which the
   * generator of the group makes it, summed up from those by which it made the bases. Transforms: the value at a random place of the
   * polynomial that came out, and of the one that went in. Multiplications: the product of one thread, and the host's. */
  uint8_t found[192], expected[32];
} pinion_bench_result;

/* Measures one thing on inputs that are made on the device, while nothing else runs there. The device memory that it takes is given
 * back; PINION_OUT_OF_MEMORY if there isn't enough. */
PINION_API int32_t pinion_bench(pinion_device *device, const pinion_bench_case *what, pinion_bench_result *result, pinion_error *error);

/* ---- For tests: in libpinion_software.so only ---- */

enum {
  PINION_FAIL_ALLOCATION = 1,        /* the n-th allocation of device memory */
  PINION_FAIL_PINNED_ALLOCATION = 2, /* the n-th allocation of pinned memory */
  PINION_FAIL_LAUNCH = 3,            /* the n-th launch of a kernel: refused, as by a wrong configuration */
  PINION_FAIL_COPY = 4,              /* the n-th copy */
  PINION_FAIL_STICKY = 5,            /* the n-th launch: an illegal access, so that this and all that follows fails */
  PINION_FLIP_NTT = 6,               /* the n-th batch of transforms: a bit of its result is flipped */
  PINION_FLIP_MSM = 7                /* the n-th sum: a bit of its result is flipped */
};

/* Arms one failure of the device, counted from 1 from now on; n = 0 disarms it. Several kinds may be armed at once. */
PINION_API int32_t pinion_software_fail(pinion_device *device, int32_t what, uint64_t n, pinion_error *error);
/* How many times that kind of thing has happened since it was last armed or disarmed. */
PINION_API int32_t pinion_software_count(pinion_device *device, int32_t what, uint64_t *count, pinion_error *error);
/* Bytes of pinned memory that the device's handle has taken and not given back, and the most since this was asked last. */
PINION_API int32_t pinion_software_pinned(pinion_device *device, int64_t *now, int64_t *most, pinion_error *error);

/* Numbers of the device that sizes depend on. */
enum {
  PINION_MEMORY = 1,     /* bytes that it has; 4 GiB unless set */
  PINION_PROCESSORS = 2, /* 2 unless set */
  PINION_PLAN = 3,       /* most bytes of sorted digits at once, beyond which sums are done in passes; 0, a 32nd of the memory, unless set */
  PINION_SPARSE = 4      /* sorted digits from which on sums leave out points at infinity; 2^21 unless set */
};

/* Changes a number. No circuit is loaded. */
PINION_API int32_t pinion_software_set(pinion_device *device, int32_t what, uint64_t value, pinion_error *error);

#ifdef __cplusplus
}
#endif

#endif

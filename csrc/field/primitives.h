// Additions and multiply-adds of 32-bit words that pass a carry along.
//
// A Carry is one chain: its methods are called in the order of the words, least significant first. On the device the carry is the
// hardware's flag, so two chains must not interleave and nothing else that touches the flag may stand between two links of a chain;
// the twin for the host keeps it as a value. Names say what goes in and out: add opens a chain, addc goes on with it, and the ones
// that end in Last take the carry and leave none.
#pragma once

#include <cstdint>

// Arithmetic is inlined in kernels; on the host that would take compilers minutes.
#if defined(__CUDA_ARCH__)
#define PINION_INLINE __host__ __device__ __forceinline__
#define PINION_UNROLL _Pragma("unroll")
#elif defined(__CUDACC__)
#define PINION_INLINE __host__ __device__ inline
#define PINION_UNROLL
#else
#define PINION_INLINE inline
#define PINION_UNROLL
#endif

// PINION_CALL keeps what is seldom done out of the kernels' loops.
#if defined(__CUDACC__)
#define PINION_CALL __host__ __device__ __noinline__
#else
#define PINION_CALL
#endif

namespace pinion {

#if defined(__CUDA_ARCH__)

class Carry {
  public:
    PINION_INLINE uint32_t add(uint32_t a, uint32_t b) {
        uint32_t r;
        asm volatile("add.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
        return r;
    }
    PINION_INLINE uint32_t addc(uint32_t a, uint32_t b) {
        uint32_t r;
        asm volatile("addc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
        return r;
    }
    PINION_INLINE uint32_t addcLast(uint32_t a, uint32_t b) {
        uint32_t r;
        asm volatile("addc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
        return r;
    }
    PINION_INLINE uint32_t sub(uint32_t a, uint32_t b) {
        uint32_t r;
        asm volatile("sub.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
        return r;
    }
    PINION_INLINE uint32_t subc(uint32_t a, uint32_t b) {
        uint32_t r;
        asm volatile("subc.cc.u32 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
        return r;
    }
    // borrowLast is all ones if the chain of subtractions borrows, else zero.
    PINION_INLINE uint32_t borrowLast() {
        uint32_t r;
        asm volatile("subc.u32 %0, 0, 0;" : "=r"(r));
        return r;
    }
    PINION_INLINE uint32_t madLo(uint32_t a, uint32_t b, uint32_t c) {
        uint32_t r;
        asm volatile("mad.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
        return r;
    }
    PINION_INLINE uint32_t madcLo(uint32_t a, uint32_t b, uint32_t c) {
        uint32_t r;
        asm volatile("madc.lo.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
        return r;
    }
    PINION_INLINE uint32_t madcHi(uint32_t a, uint32_t b, uint32_t c) {
        uint32_t r;
        asm volatile("madc.hi.cc.u32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
        return r;
    }
};

#else

class HostCarry {
  public:
    PINION_INLINE uint32_t add(uint32_t a, uint32_t b) { return take(uint64_t(a) + b); }
    PINION_INLINE uint32_t addc(uint32_t a, uint32_t b) { return take(uint64_t(a) + b + bit_); }
    PINION_INLINE uint32_t addcLast(uint32_t a, uint32_t b) { return a + b + bit_; }
    PINION_INLINE uint32_t sub(uint32_t a, uint32_t b) { return borrow(uint64_t(a) - b); }
    PINION_INLINE uint32_t subc(uint32_t a, uint32_t b) { return borrow(uint64_t(a) - b - bit_); }
    PINION_INLINE uint32_t borrowLast() { return 0u - bit_; }
    PINION_INLINE uint32_t madLo(uint32_t a, uint32_t b, uint32_t c) { return take(uint64_t(a * b) + c); }
    PINION_INLINE uint32_t madcLo(uint32_t a, uint32_t b, uint32_t c) { return take(uint64_t(a * b) + c + bit_); }
    PINION_INLINE uint32_t madcHi(uint32_t a, uint32_t b, uint32_t c) {
        return take((uint64_t(a) * b >> 32) + c + bit_);
    }

  protected:
    PINION_INLINE uint32_t take(uint64_t sum) {
        bit_ = uint32_t(sum >> 32);
        return uint32_t(sum);
    }
    PINION_INLINE uint32_t borrow(uint64_t difference) {
        bit_ = uint32_t(difference >> 63);
        return uint32_t(difference);
    }

    uint32_t bit_ = 0;
};

#ifndef PINION_MUTANTS
using Carry = HostCarry;
#endif

#endif

}  // namespace pinion

#ifdef PINION_MUTANTS
#include "../test/mutants.h"
#endif

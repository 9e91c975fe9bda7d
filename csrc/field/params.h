// The parameters of the four prime fields, little-endian 32-bit words, R = 2^(32 * words). The roots of unity of high order that the
// scalar fields have make p end in 1 - 2^lowest; of the others lowest is 0.
#pragma once

#include "primitives.h"

namespace pinion {

// The scalar field of BN254.
struct Bn254FrParams {
    static constexpr int words = 8;
    static constexpr int bits = 254;
    static constexpr uint32_t inverse = 0xefffffffu;  // -1/p mod 2^32
    static constexpr int lowest = 28;  // p = 1 - 2^28 mod 2^32
    static constexpr int twoAdicity = 28;
    // p
    PINION_INLINE static constexpr uint32_t modulus(int i) {
        constexpr uint32_t w[words] = {0xf0000001u, 0x43e1f593u, 0x79b97091u, 0x2833e848u,
                                  0x8181585du, 0xb85045b6u, 0xe131a029u, 0x30644e72u};
        return w[i];
    }
    // R mod p
    PINION_INLINE static constexpr uint32_t one(int i) {
        constexpr uint32_t w[words] = {0x4ffffffbu, 0xac96341cu, 0x9f60cd29u, 0x36fc7695u,
                                  0x7879462eu, 0x666ea36fu, 0x9a07df2fu, 0x0e0a77c1u};
        return w[i];
    }
    // R^2 mod p
    PINION_INLINE static constexpr uint32_t square(int i) {
        constexpr uint32_t w[words] = {0xae216da7u, 0x1bb8e645u, 0xe35c59e3u, 0x53fe3ab1u,
                                  0x53bb8085u, 0x8c49833du, 0x7f4e44a5u, 0x0216d0b1u};
        return w[i];
    }
    // 5^((p-1)/2^28) R mod p, of order 2^28
    PINION_INLINE static constexpr uint32_t root(int i) {
        constexpr uint32_t w[words] = {0x80d13d9cu, 0x636e7355u, 0x2445ffd6u, 0xa22bf374u,
                                  0x1eb203d8u, 0x56452ac0u, 0x2963f9e7u, 0x1860ef94u};
        return w[i];
    }
};

// The base field of BN254.
struct Bn254FqParams {
    static constexpr int words = 8;
    static constexpr int bits = 254;
    static constexpr uint32_t inverse = 0xe4866389u;  // -1/p mod 2^32
    static constexpr int lowest = 0;
    // p
    PINION_INLINE static constexpr uint32_t modulus(int i) {
        constexpr uint32_t w[words] = {0xd87cfd47u, 0x3c208c16u, 0x6871ca8du, 0x97816a91u,
                                  0x8181585du, 0xb85045b6u, 0xe131a029u, 0x30644e72u};
        return w[i];
    }
    // R mod p
    PINION_INLINE static constexpr uint32_t one(int i) {
        constexpr uint32_t w[words] = {0xc58f0d9du, 0xd35d438du, 0xf5c70b3du, 0x0a78eb28u,
                                  0x7879462cu, 0x666ea36fu, 0x9a07df2fu, 0x0e0a77c1u};
        return w[i];
    }
    // R^2 mod p
    PINION_INLINE static constexpr uint32_t square(int i) {
        constexpr uint32_t w[words] = {0x538afa89u, 0xf32cfc5bu, 0xd44501fbu, 0xb5e71911u,
                                  0x0a417ff6u, 0x47ab1effu, 0xcab8351fu, 0x06d89f71u};
        return w[i];
    }
};

// The scalar field of BLS12-381.
struct Bls12381FrParams {
    static constexpr int words = 8;
    static constexpr int bits = 255;
    static constexpr uint32_t inverse = 0xffffffffu;  // -1/p mod 2^32
    static constexpr int lowest = 32;  // p = 1 - 2^32 mod 2^64
    static constexpr int twoAdicity = 32;
    // p
    PINION_INLINE static constexpr uint32_t modulus(int i) {
        constexpr uint32_t w[words] = {0x00000001u, 0xffffffffu, 0xfffe5bfeu, 0x53bda402u,
                                  0x09a1d805u, 0x3339d808u, 0x299d7d48u, 0x73eda753u};
        return w[i];
    }
    // R mod p
    PINION_INLINE static constexpr uint32_t one(int i) {
        constexpr uint32_t w[words] = {0xfffffffeu, 0x00000001u, 0x00034802u, 0x5884b7fau,
                                  0xecbc4ff5u, 0x998c4fefu, 0xacc5056fu, 0x1824b159u};
        return w[i];
    }
    // R^2 mod p
    PINION_INLINE static constexpr uint32_t square(int i) {
        constexpr uint32_t w[words] = {0xf3f29c6du, 0xc999e990u, 0x87925c23u, 0x2b6cedcbu,
                                  0x7254398fu, 0x05d31496u, 0x9f59ff11u, 0x0748d9d9u};
        return w[i];
    }
    // 5^((p-1)/2^32) R mod p, of order 2^32
    PINION_INLINE static constexpr uint32_t root(int i) {
        constexpr uint32_t w[words] = {0x0c17f47cu, 0x9cab6d5cu, 0xfd4b71e5u, 0x1ce1e93du,
                                  0x471dd505u, 0x0d6db230u, 0x743a3b6au, 0x3f0ee990u};
        return w[i];
    }
};

// The base field of BLS12-381.
struct Bls12381FqParams {
    static constexpr int words = 12;
    static constexpr int bits = 381;
    static constexpr uint32_t inverse = 0xfffcfffdu;  // -1/p mod 2^32
    static constexpr int lowest = 0;
    // p
    PINION_INLINE static constexpr uint32_t modulus(int i) {
        constexpr uint32_t w[words] = {0xffffaaabu, 0xb9feffffu, 0xb153ffffu, 0x1eabfffeu,
                                  0xf6b0f624u, 0x6730d2a0u, 0xf38512bfu, 0x64774b84u,
                                  0x434bacd7u, 0x4b1ba7b6u, 0x397fe69au, 0x1a0111eau};
        return w[i];
    }
    // R mod p
    PINION_INLINE static constexpr uint32_t one(int i) {
        constexpr uint32_t w[words] = {0x0002fffdu, 0x76090000u, 0xc40c0002u, 0xebf4000bu,
                                  0x53c758bau, 0x5f489857u, 0x70525745u, 0x77ce5853u,
                                  0xa256ec6du, 0x5c071a97u, 0xfa80e493u, 0x15f65ec3u};
        return w[i];
    }
    // R^2 mod p
    PINION_INLINE static constexpr uint32_t square(int i) {
        constexpr uint32_t w[words] = {0x1c341746u, 0xf4df1f34u, 0x09d104f1u, 0x0a76e6a6u,
                                  0x4c95b6d5u, 0x8de5476cu, 0x939d83c0u, 0x67eb88a9u,
                                  0xb519952du, 0x9a793e85u, 0x92cae3aau, 0x11988fe5u};
        return w[i];
    }
};

}  // namespace pinion

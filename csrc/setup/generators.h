// The standard generators of the groups, as in gnark-crypto.
#pragma once

#include "../curve/point.h"

namespace pinion {

// generator is that of the group with coordinates F.
template <class F>
Affine<F> generator();

namespace setup {

// number is the element with that integer, in hexadecimal.
template <class F>
F number(const char *hex) {
  F x = F::zero();
  for (; *hex; hex++) {
    for (int i = F::words - 1; i > 0; i--) x.w[i] = x.w[i] << 4 | x.w[i - 1] >> 28;
    x.w[0] = x.w[0] << 4 | uint32_t(*hex <= '9' ? *hex - '0' : *hex - 'a' + 10);
  }
  return F::fromInteger(x);
}

}  // namespace setup

template <>
inline Affine<Bn254::G1> generator() {
  using Q = Bn254Fq;
  return {setup::number<Q>("1"), setup::number<Q>("2")};
}

template <>
inline Affine<Bn254::G2> generator() {
  using Q = Bn254Fq;
  return {{setup::number<Q>("1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"),
           setup::number<Q>("198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2")},
          {setup::number<Q>("12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"),
           setup::number<Q>("090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b")}};
}

template <>
inline Affine<Bls12381::G1> generator() {
  using Q = Bls12381Fq;
  return {setup::number<Q>("17f1d3a73197d7942695638c4fa9ac0fc3688c4f9774b905a14e3a3f171bac586c55e83ff97a1aeffb3af00adb22c6bb"),
          setup::number<Q>("08b3f481e3aaa0f1a09e30ed741d8ae4fcf5e095d5d00af600db18cb2c04b3edd03cc744a2888ae40caa232946c5e7e1")};
}

template <>
inline Affine<Bls12381::G2> generator() {
  using Q = Bls12381Fq;
  return {{setup::number<Q>("024aa2b2f08f0a91260805272dc51051c6e47ad4fa403b02b4510b647ae3d1770bac0326a805bbefd48056c8c121bdb8"),
           setup::number<Q>("13e02b6052719f607dacd3a088274f65596bd0d09920b61ab5da61bbdc7f5049334cf11213945d57e5ac7d055d042b7e")},
          {setup::number<Q>("0ce5d527727d6e118cc9cdc6da2e351aadfd9baa8cbdd3a76d429a695160d12c923ac9cc3baca289e193548608b82801"),
           setup::number<Q>("0606c4a02ea734cc32acd2b02bc28b99cb3e287e85a763af267492ab572e99ab3f370d275cec1da1aaa9075ff05f79be")}};
}

}  // namespace pinion

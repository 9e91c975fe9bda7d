#include "additions_kernel.h"

namespace pinion {

template void addUp(Stream &, const Affine<Bls12381::G1> *, unsigned, unsigned, unsigned, Xyzz<Bls12381::G1> *);

}  // namespace pinion

#include "additions_kernel.h"

namespace pinion {

template void addUp(Stream &, const Affine<Bls12381::G2> *, unsigned, unsigned, unsigned, Xyzz<Bls12381::G2> *);

}  // namespace pinion

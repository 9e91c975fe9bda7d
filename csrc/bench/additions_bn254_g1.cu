#include "additions_kernel.h"

namespace pinion {

template void addUp(Stream &, const Affine<Bn254::G1> *, unsigned, unsigned, unsigned, Xyzz<Bn254::G1> *);

}  // namespace pinion

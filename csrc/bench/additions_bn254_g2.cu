#include "additions_kernel.h"

namespace pinion {

template void addUp(Stream &, const Affine<Bn254::G2> *, unsigned, unsigned, unsigned, Xyzz<Bn254::G2> *);

}  // namespace pinion

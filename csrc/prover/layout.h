// How a circuit is kept and computed.
#pragma once

#include <algorithm>

#include "../msm/msm.h"

namespace pinion {

// Layout is a function of a key's numbers and of the device, for the curve C.
template <class C>
struct Layout {
  using S = typename C::Scalar;

  unsigned logDomain = 0;
  unsigned batch = 0;
  size_t width = 0;  // of a vector of scalars: the wires, then r and s
  Windows witness, quotient;
  int arrays = 1;       // of the three over the witness in G1, that are summed up at once
  bool sparse = false;  // B may have a plan of its own, that leaves out the wires that aren't in it

  // Layout takes as many proofs at once as the device needs to be busy, as many tables as an eighth of its memory holds, and as many passes as
  // make plans small enough.
  Layout(Device &device, const pinion_key &key) {
    while (size_t(1) << logDomain < key.domain) logDomain++;
    width = key.vars + 2;
    const size_t busy = size_t(1) << 20;
    batch = key.batch ? key.batch : unsigned(std::min<size_t>(std::max<size_t>(busy >> logDomain, 1), device.maxBatch()));
    while (!fit(device, key) && batch > 1) batch /= 2;
    const size_t entries = Plan<S>::capacity(width, int(batch), witness);
    const size_t alike = size_t(1) << 24;  // with more, the tail of a sum is a small part of it
    if (entries <= alike && witness.passes == 1) arrays = msm::abreast;
    sparse = entries >= device.sparsePlan();
  }

  size_t domain() const { return size_t(1) << logDomain; }
  size_t baseBytes() const {
    using G1 = Affine<typename C::G1>;
    using G2 = Affine<typename C::G2>;
    return witness.tables * width * (3 * sizeof(G1) + sizeof(G2)) + quotient.tables * domain() * sizeof(G1);
  }

 private:
  // fit chooses windows. It is false if a pass is too large for a plan all the same; with a batch of one none is.
  bool fit(Device &device, const pinion_key &key) {
    pinion_device_info info;
    device.describe(&info);
    for (int tables = device.maxTables(); tables > 0; tables /= 2) {
      witness = Windows::choose(S::Params::bits, width, int(batch), tables);
      quotient = Windows::choose(S::Params::bits, key.domain, int(batch), tables);
      if (baseBytes() <= size_t(info.memory) / 8) break;
    }
    const bool both[] = {cut(device, width, witness), cut(device, key.domain, quotient)};
    return both[0] && both[1];
  }

  bool cut(Device &device, size_t n, Windows &windows) const {
    const auto entries = [&] { return Plan<S>::capacity(n, int(batch), windows); };
    while (entries() * Plan<S>::entryBytes > device.maxPlan() && windows.passes < windows.groups) windows.passes++;
    return entries() < Plan<S>::mostEntries;
  }
};

}  // namespace pinion

// A Carry that can be made to lose what it carries, in place of the host's: for tests of the tests.
#pragma once

namespace pinion {

// Primitive is one of the operations of a Carry.
enum class Primitive { none, add, addc, addcLast, sub, subc, borrowLast, madLo, madcLo, madcHi };

// CarryMutant loses the carry on the way into the operation, or on the way out of it.
struct CarryMutant {
  Primitive primitive;
  bool out;
};
inline CarryMutant carryMutant{Primitive::none, false};

class Carry : public HostCarry {
 public:
  uint32_t add(uint32_t a, uint32_t b) { return trial(Primitive::add, [=] { return HostCarry::add(a, b); }); }
  uint32_t addc(uint32_t a, uint32_t b) { return trial(Primitive::addc, [=] { return HostCarry::addc(a, b); }); }
  uint32_t addcLast(uint32_t a, uint32_t b) { return trial(Primitive::addcLast, [=] { return HostCarry::addcLast(a, b); }); }
  uint32_t sub(uint32_t a, uint32_t b) { return trial(Primitive::sub, [=] { return HostCarry::sub(a, b); }); }
  uint32_t subc(uint32_t a, uint32_t b) { return trial(Primitive::subc, [=] { return HostCarry::subc(a, b); }); }
  uint32_t borrowLast() { return trial(Primitive::borrowLast, [=] { return HostCarry::borrowLast(); }); }
  uint32_t madLo(uint32_t a, uint32_t b, uint32_t c) { return trial(Primitive::madLo, [=] { return HostCarry::madLo(a, b, c); }); }
  uint32_t madcLo(uint32_t a, uint32_t b, uint32_t c) { return trial(Primitive::madcLo, [=] { return HostCarry::madcLo(a, b, c); }); }
  uint32_t madcHi(uint32_t a, uint32_t b, uint32_t c) { return trial(Primitive::madcHi, [=] { return HostCarry::madcHi(a, b, c); }); }

 private:
  template <class Operation>
  uint32_t trial(Primitive primitive, Operation operation) {
    const bool lost = carryMutant.primitive == primitive;
    if (lost && !carryMutant.out) bit_ = 0;
    const uint32_t r = operation();
    if (lost && carryMutant.out) bit_ = 0;
    return r;
  }
};

}  // namespace pinion

// The points of a key, on their way to the device.
#pragma once

#include <optional>

#include "loader.h"

namespace pinion {

// Points loads sections of points of a group, which the key has as they are or as exponents. F is of their coordinates.
template <class F, class S>
class Points {
 public:
  // Points for sections of up to most points.
  Points(Loader &loader, const pinion_key &key, size_t most) : loader_(loader) {
    if (key.exponents) multiples_.emplace(loader.device(), loader.stream(), most);
  }
  // What is under way uses the table of multiples.
  ~Points() {
    try {
      loader_.stream().synchronize();
    } catch (const Failure &) {
    }
  }

  // load enqueues count points of a section.
  void load(Affine<F> *to, const void *section, size_t count) {
    if (multiples_) {
      loader_.multiply(*multiples_, to, section, count);
    } else {
      loader_.copy(to, section, count * sizeof(Affine<F>));
    }
  }
  // loadOwn enqueues one of the single points, which are points in every key.
  void loadOwn(Affine<F> *to, const void *point) { loader_.copyOwn(to, point, sizeof(Affine<F>)); }

  // finish waits, and throws PINION_INVALID if an exponent wasn't below the order of the group.
  void finish() {
    if (multiples_) multiples_->check(loader_.stream());
    loader_.stream().synchronize();
  }

 private:
  Loader &loader_;
  std::optional<Multiples<F, S>> multiples_;
};

}  // namespace pinion

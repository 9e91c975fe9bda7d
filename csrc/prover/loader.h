// Copying of a key to the device.
#pragma once

#include <algorithm>
#include <cstring>

#include "../device/device.h"
#include "../setup/multiples.h"

namespace pinion {

// Loader copies what the caller has to the device through two pieces of pinned memory, one of which is filled while the other is
// copied. The caller's memory is announced piece by piece before it is read.
class Loader {
 public:
  Loader(Device &device, const pinion_key &key) : device_(device), key_(key), stream_(device), copied_{Event(device), Event(device)} {
    for (auto &piece : pieces_) piece = Pinned<unsigned char>(device, pieceBytes);
  }
  // Copies under way read the pieces.
  ~Loader() {
    try {
      stream_.synchronize();
    } catch (const Failure &) {
    }
  }

  Device &device() const { return device_; }
  Stream &stream() { return stream_; }

  static constexpr size_t pieceBytes = 4 << 20;

  // copy enqueues the copy of a section of the key.
  void copy(void *to, const void *from, size_t bytes) {
    pieces(from, bytes, true, [&](const void *piece, size_t at, size_t size) { stream_.copyIn(static_cast<unsigned char *>(to) + at, piece, size); });
  }
  // copyOwn does it for memory of the library.
  void copyOwn(void *to, const void *from, size_t bytes) {
    pieces(from, bytes, false, [&](const void *piece, size_t at, size_t size) { stream_.copyIn(static_cast<unsigned char *>(to) + at, piece, size); });
  }
  // multiply enqueues the making of count points from the scalars of a section.
  template <class F, class S>
  void multiply(Multiples<F, S> &multiples, Affine<F> *to, const void *scalars, size_t count) {
    static_assert(pieceBytes <= Multiples<F, S>::most * sizeof(S), "a piece is a run");
    pieces(scalars, count * sizeof(S), true, [&](const void *piece, size_t at, size_t size) { multiples.run(stream_, piece, size / sizeof(S), to + at / sizeof(S)); });
  }

 private:
  // pieces has enqueue called with each piece of bytes that the caller has; announced says whether they are part of the key.
  template <class Enqueue>
  void pieces(const void *from, size_t bytes, bool announced, Enqueue enqueue) {
    for (size_t at = 0; at < bytes; at += pieceBytes) {
      const size_t size = std::min(pieceBytes, bytes - at);
      const unsigned char *source = static_cast<const unsigned char *>(from) + at;
      if (announced && key_.touch && key_.touch(key_.context, source, size) != 0) throw Failure(PINION_INVALID, "the key's owner ended the load");
      turn_ ^= 1;
      copied_[turn_].synchronize();
      std::memcpy(pieces_[turn_].data(), source, size);
      enqueue(pieces_[turn_].data(), at, size);
      stream_.record(copied_[turn_]);
    }
  }

  Device &device_;
  const pinion_key &key_;
  Stream stream_;
  Pinned<unsigned char> pieces_[2];
  Event copied_[2];
  unsigned turn_ = 0;
};

}  // namespace pinion

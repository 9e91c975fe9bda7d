// Bases that leave out the places where they have no points.
#pragma once

#include <vector>

#include "../curve/point.h"
#include "../device/device.h"
#include "plan.h"

namespace pinion {

namespace msm {

// tile is how many places a warp looks at.
constexpr size_t tile = 1024;

// findPoints counts the places of each tile where one or the other of two arrays isn't at infinity. With indices, where those of a tile begin
// at starts, it writes them.
template <class G, class H>
PINION_KERNEL_BOUNDS(128, 1) findPoints(const G *one, const H *other, size_t n, uint32_t *starts, uint32_t *indices) {
  const size_t warp = globalThread() / 32;
  if (warp * tile >= n) return;
  const unsigned lane = laneIndex();
  uint32_t place = indices ? starts[warp] : 0;
  for (size_t first = warp * tile; first < (warp + 1) * tile; first += 32) {
    const size_t i = first + lane;
    const bool found = i < n && !(one[i].isInfinity() && other[i].isInfinity());
    const unsigned votes = ballot(found);
    if (found && indices) indices[place + bitCount(votes & ((1u << lane) - 1))] = uint32_t(i);
    place += bitCount(votes);
  }
  if (lane == 0 && !indices) starts[warp] = place;
}

// pick writes the points at indices.
template <class G>
PINION_KERNEL_BOUNDS(128, 1) pick(const G *points, const uint32_t *indices, size_t count, G *picked) {
  for (size_t i = globalThread(); i < count; i += globalThreads()) picked[i] = points[indices[i]];
}

}  // namespace msm

// findSubset waits for the places where one or the other of two arrays of n points isn't at infinity, and writes them to indices, which
// has room for n.
template <class G, class H>
Subset findSubset(Stream &stream, const G *one, const H *other, size_t n, uint32_t *indices) {
  std::vector<uint32_t> starts((n + msm::tile - 1) / msm::tile);
  Buffer<uint32_t> memory(stream.device(), starts.size());
  const Shape shape{blocksFor(starts.size() * 32, 128), 128};
  stream.launch("findPoints", shape, msm::findPoints<G, H>, one, other, n, memory.data(), static_cast<uint32_t *>(nullptr));
  stream.copyOut(starts.data(), memory.data(), memory.bytes());
  stream.synchronize();
  uint32_t count = 0;
  for (uint32_t &start : starts) {
    const uint32_t here = start;
    start = count;
    count += here;
  }
  stream.copyIn(memory.data(), starts.data(), memory.bytes());
  stream.launch("findPoints", shape, msm::findPoints<G, H>, one, other, n, memory.data(), indices);
  stream.synchronize();
  return {indices, count};
}

// moveTogether enqueues the move of a subset's points to the beginning of their array, by way of memory for room points. Indices ascend:
// what is written over has been read.
template <class G>
void moveTogether(Stream &stream, G *points, Subset subset, G *memory, size_t room) {
  for (size_t at = 0; at < subset.count; at += room) {
    const size_t count = subset.count - at < room ? subset.count - at : room;
    stream.launch("pick", Shape{blocksFor(count, 128), 128}, msm::pick<G>, static_cast<const G *>(points), subset.indices + at, count, memory);
    stream.copy(points + at, memory, count * sizeof(G));
  }
}

}  // namespace pinion

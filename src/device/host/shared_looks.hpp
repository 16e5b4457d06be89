// SPDX-License-Identifier: Apache-2.0
// Keys that threads need not sort: those that lie in order but for a short tail, or in reverse. Each thread reads and
// writes pieces of the array.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "base/math.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/shared_space.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

/// Returns the keys of a piece: there are some pieces for each thread, as long as they are worth being taken. All but
/// the last of an array are as long.
[[nodiscard]] inline std::uint64_t shared_piece_keys(const shared_space& space, std::uint64_t num_keys) {
  constexpr std::uint64_t fewest = std::uint64_t{1} << 13;
  constexpr std::uint64_t most = std::uint64_t{1} << 16;
  return std::clamp(base::round_up(num_keys / (4 * space.num_threads()), fewest), fewest, most);
}

/// Calls work(begin, end, thread) for pieces of 0 .. num_keys, on all threads, as long as it returns true. Returns
/// whether it did to the end.
template <class Work>
bool for_shared_pieces(const shared_space& space, std::uint64_t num_keys, const Work& work) {
  const std::uint64_t piece_keys = shared_piece_keys(space, num_keys);
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> goes_on = true;
  space.run([&](unsigned thread) {
    for (std::uint64_t begin = next.fetch_add(piece_keys); begin < num_keys && goes_on.load(std::memory_order_relaxed);
         begin = next.fetch_add(piece_keys)) {
      if (!work(begin, std::min(begin + piece_keys, num_keys), thread)) goes_on.store(false, std::memory_order_relaxed);
    }
  });
  return goes_on;
}

/// Sorts keys of which the first `front` ascend. Returns false, with nothing written, where the others are not a short
/// tail, which one thread sorts in its scratch.
template <class K>
bool sort_tail_shared(const shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t front,
                      std::uint64_t num_keys) {
  // One thread has moved the blocks of a few thousand keys in the time that it takes to merge on all: on 16 threads of
  // an Emerald Rapids 2^17 keys with a tail of one in a hundred took 62 us (u32) and 75 (f64), and merged 86 and 119.
  constexpr std::uint64_t few_keys = 4096;
  const std::uint64_t num_tail = num_keys - front;
  const vector_sort_scratch<K> scratch = space.template scratch_of<K>(0);
  const unsigned num_threads = num_tail <= few_keys ? 1 : space.num_threads();
  if (!is_short_tail(num_tail, num_keys, num_threads) || num_tail > scratch.num_keys) return false;
  vector_sort(codec, keys + front, keys + front, num_tail, scratch);
  merge_tail<K, no_value>(bijective_order<K>(codec), {keys, nullptr}, front, num_keys, {scratch.first, nullptr});
  return true;
}

/// Leaves sorted keys, and reverses those that lie the other way round; sorts keys that ascend but for a short tail.
/// Returns false, with nothing written, where they lie otherwise.
template <class K>
bool finish_ordered_shared(const shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  const order_flags first = look_at_first(codec, keys, num_keys);
  if (num_keys < 2 || !first.any()) return false;
  // These tell where the first piece begins that does not ascend, or descend. All pieces before have been looked at.
  std::atomic<std::uint64_t> descent = first.ascending ? num_keys : 0;
  std::atomic<std::uint64_t> ascent = first.descending ? num_keys : 0;
  for_shared_pieces(space, num_keys - 1, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    if (begin > descent.load(std::memory_order_relaxed) && begin > ascent.load(std::memory_order_relaxed)) return true;
    const order_flags order = scan_order(codec, keys + begin, end - begin + 1);
    if (!order.ascending) lower_to(descent, begin);
    if (!order.descending) lower_to(ascent, begin);
    return true;
  });
  if (descent == num_keys) return true;
  if (ascent == num_keys) {
    for_shared_pieces(space, num_keys / 2, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
      std::swap_ranges(keys + begin, keys + end, std::reverse_iterator(keys + (num_keys - begin)));
      return true;
    });
    return true;
  }
  if constexpr (sizeof(K) >= 4) {
    if (!first.ascending) return false;
    const std::uint64_t begin = descent;
    const std::uint64_t front = begin + find_descent(codec, keys + begin, num_keys - begin) + 1;
    return sort_tail_shared(space, codec, keys, front, num_keys);
  }
  return false;
}

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Keys that threads need not sort: those that lie in order, or in reverse, and those of a few values. Each thread reads
// and writes pieces of the array.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <iterator>

#include "device/host/few_values.hpp"
#include "device/host/shared_space.hpp"
#include "device/host/vector_kernels.hpp"

namespace spansort::device::host {

/// Keys of a piece: all but the last of an array are as many.
inline constexpr std::uint64_t shared_piece_keys = std::uint64_t{1} << 16;

/// Calls work(begin, end, thread) for pieces of 0 .. num_keys, on all threads, as long as it returns true. Returns
/// whether it did to the end.
template <class Work>
bool for_shared_pieces(const shared_space& space, std::uint64_t num_keys, const Work& work) {
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> goes_on = true;
  space.run([&](unsigned thread) {
    for (std::uint64_t begin = next.fetch_add(shared_piece_keys);
         begin < num_keys && goes_on.load(std::memory_order_relaxed); begin = next.fetch_add(shared_piece_keys)) {
      if (!work(begin, std::min(begin + shared_piece_keys, num_keys), thread))
        goes_on.store(false, std::memory_order_relaxed);
    }
  });
  return goes_on;
}

/// Leaves sorted keys, and reverses those that lie the other way round. Returns whether they were either.
template <class K>
bool finish_ordered_shared(const shared_space& space, const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys) {
  constexpr std::uint64_t first_look = 33;
  if (num_keys < 2 || !scan_order(codec, keys, std::min(num_keys, first_look)).any()) return false;
  std::atomic<bool> ascends = true;
  std::atomic<bool> descends = true;
  const bool is_ordered = for_shared_pieces(space, num_keys - 1, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    const order_flags order = scan_order(codec, keys + begin, end - begin + 1);
    if (!order.ascending) ascends.store(false, std::memory_order_relaxed);
    if (!order.descending) descends.store(false, std::memory_order_relaxed);
    return ascends.load(std::memory_order_relaxed) || descends.load(std::memory_order_relaxed);
  });
  if (!is_ordered || (!ascends && !descends)) return false;
  if (!ascends) {
    for_shared_pieces(space, num_keys / 2, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
      std::swap_ranges(keys + begin, keys + end, std::reverse_iterator(keys + (num_keys - begin)));
      return true;
    });
  }
  return true;
}

/// Writes keys of a few distinct values by their counts. Returns false, with nothing written, where there are others.
template <class K>
bool sort_few_values_shared(const shared_space& space, const keys::codec_of<K>& codec, K* keys,
                            std::uint64_t num_keys) {
  const few_values<K> few = sample_few_values(bijective_order<K>(codec), keys, num_keys);
  if (few.count == 0) return false;
  std::array<std::atomic<std::uint64_t>, most_few_values> counts = {};
  const bool are_all = for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    std::array<std::uint64_t, most_few_values> of_piece = {};
    if (!count_values(keys + begin, end - begin, few.span(), of_piece.data())) return false;
    for (unsigned v = 0; v < few.count; ++v) counts[v].fetch_add(of_piece[v], std::memory_order_relaxed);
    return true;
  });
  if (!are_all) return false;
  std::array<std::uint64_t, most_few_values + 1> begins = {};
  for (unsigned v = 0; v < few.count; ++v) begins[v + 1] = begins[v] + counts[v];
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    for (unsigned v = 0; v < few.count; ++v) {
      const std::uint64_t from = std::max(begin, begins[v]);
      const std::uint64_t to = std::min(end, begins[v + 1]);
      if (from < to) fill_keys(keys + from, to - from, few.keys[v], false);
    }
    return true;
  });
  return true;
}

}  // namespace spansort::device::host

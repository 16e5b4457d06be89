// SPDX-License-Identifier: Apache-2.0
// Keys most of which are one of a few heavy values, on all threads: these are counted, and the others, which are
// gathered at the end and sorted, move to their places around the runs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/count_few.hpp"
#include "device/host/key_sample.hpp"
#include "device/host/ordered_keys.hpp"
#include "device/host/shared_looks.hpp"
#include "device/host/shared_parts.hpp"
#include "device/host/shared_space.hpp"

namespace spansort::device::host {

/// gather_others() of all keys on all threads.
template <class K>
std::uint64_t gather_others_shared(const shared_space& space, K* keys, std::uint64_t num_keys,
                                   std::span<const K> values, std::uint64_t* counts) {
  if (space.num_threads() == 1) return gather_others(keys, num_keys, values, counts);
  std::array<std::atomic<std::uint64_t>, most_heavy_values> shared_counts = {};
  const std::uint64_t piece_keys = shared_piece_keys(space, num_keys);
  std::vector<std::uint64_t> others_of(base::ceil_div(num_keys, piece_keys));
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    std::array<std::uint64_t, most_heavy_values> of_piece = {};
    others_of[begin / piece_keys] = gather_others(keys + begin, end - begin, values, of_piece.data());
    for (unsigned v = 0; v < values.size(); ++v) shared_counts[v].fetch_add(of_piece[v], std::memory_order_relaxed);
    return true;
  });
  for (unsigned v = 0; v < values.size(); ++v) counts[v] += shared_counts[v];
  // Others of each piece, the last one first, move up to those behind it.
  std::uint64_t others_begin = num_keys;
  for (std::uint64_t piece = others_of.size(); piece-- > 0;) {
    const std::uint64_t begin = std::min((piece + 1) * piece_keys, num_keys) - others_of[piece];
    others_begin -= others_of[piece];
    std::memmove(keys + others_begin, keys + begin, others_of[piece] * sizeof(K));
    const std::uint64_t left_end = std::min(begin + others_of[piece], others_begin);
    fill_keys(keys + begin, left_end - begin, values[0], false);
  }
  return num_keys - others_begin;
}

/// Sorts keys half of which and more a few values hold, as a sample says; all of them, whatever it missed. Returns
/// false, with nothing written, where it says otherwise. Throws std::bad_alloc with the keys untouched.
template <class K>
bool sort_heavy_values_shared(const shared_space& space, const keys::codec_of<K>& codec, K* keys,
                              std::uint64_t num_keys) {
  constexpr unsigned fewest_samples = heavy_sample_keys * 5 / 8;
  if (num_keys < heavy_sample_keys) return false;
  few_counts<K> found;
  (void)key_sample<K>(keys, num_keys).take_values(0, true, found);
  if (found.num_heavy_samples < fewest_samples) return false;

  std::array<std::uint64_t, most_heavy_values> counts = {};
  const std::span<const K> heavy(found.heavy.data(), found.num_heavy);
  const std::uint64_t num_others = gather_others_shared(space, keys, num_keys, heavy, counts.data());
  if (num_others != 0) shared_sorter<K>(codec, space, num_others).sort(keys + num_keys - num_others, num_others);
  const auto runs = place_others(codec, keys, num_keys, num_others, found, counts.data());
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t piece_end, unsigned) {
    for (const heavy_run<K>& run : std::span(runs).first(found.num_heavy)) {
      const std::uint64_t from = std::max(begin, run.begin);
      const std::uint64_t to = std::min(piece_end, run.end);
      if (from < to) fill_keys(keys + from, to - from, run.key, false);
    }
    return true;
  });
  return true;
}

}  // namespace spansort::device::host

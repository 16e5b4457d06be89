// SPDX-License-Identifier: Apache-2.0
// Keys most of which are one of a few heavy values, on all threads: these are counted, the others lie side by side and
// are sorted, and move up around the runs.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "device/host/count_few.hpp"
#include "device/host/key_sample.hpp"
#include "device/host/ordered_keys.hpp"
#include "device/host/shared_looks.hpp"
#include "device/host/shared_parts.hpp"
#include "device/host/shared_space.hpp"

namespace spansort::device::host {

/// A run of equal keys in the result.
template <class K>
struct heavy_run {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  K key = 0;
};

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

  const std::span<const K> heavy(found.heavy.data(), found.num_heavy);
  std::array<std::atomic<std::uint64_t>, most_heavy_values> counts = {};
  std::vector<std::uint64_t> others_of(num_keys / shared_piece_keys + 1);
  for_shared_pieces(space, num_keys, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
    std::array<std::uint64_t, most_heavy_values> of_piece = {};
    others_of[begin / shared_piece_keys] =
        set_others_aside(keys + begin, end - begin, heavy, of_piece.data(), keys + begin);
    for (unsigned v = 0; v < heavy.size(); ++v) counts[v].fetch_add(of_piece[v], std::memory_order_relaxed);
    return true;
  });
  std::uint64_t num_others = 0;
  for (std::uint64_t piece = 0; piece < others_of.size(); ++piece) {
    std::memmove(keys + num_others, keys + piece * shared_piece_keys, others_of[piece] * sizeof(K));
    num_others += others_of[piece];
  }
  if (num_others != 0) shared_sorter<K>(codec, space, num_others).sort(keys, num_others);

  // Others move to behind the heavy values, from the greatest of these down.
  const auto order = order_values(codec, found.heavy, found.num_heavy);
  std::array<heavy_run<K>, most_heavy_values> runs = {};
  std::uint64_t end = num_keys;
  for (unsigned i = found.num_heavy; i-- > 0;) {
    const K value = found.heavy[order[i]];
    const K* const above = std::upper_bound(keys, keys + num_others, codec.encode_bits(value),
                                            [&](K encoded, K key) { return encoded < codec.encode_bits(key); });
    const auto num_above = static_cast<std::uint64_t>(keys + num_others - above);
    end -= num_above;
    std::memmove(keys + end, above, num_above * sizeof(K));
    num_others -= num_above;
    runs[i] = {end - counts[order[i]], end, value};
    end = runs[i].begin;
  }
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

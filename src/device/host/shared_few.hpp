// SPDX-License-Identifier: Apache-2.0
// Keys of a few distinct values are counted instead of moved, by all threads in one pass: what a tile held is written
// over, while it is in the cache, by what a sample expects to stand there in the end. The counts then tell how far the
// expectation was from the truth, and only the keys between the two are written again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/math.hpp"
#include "device/host/few_values.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/shared_looks.hpp"
#include "device/host/shared_space.hpp"

namespace spansort::device::host {

template <class K>
class shared_few_sorter {
 public:
  shared_few_sorter(const shared_space& space, const few_values<K>& few, K* keys, std::uint64_t num_keys)
      : space_(space), few_(few), keys_(keys), num_keys_(num_keys), expected_(expect()) {}

  /// Sorts the keys. Returns false, with the keys in another order, where any is none of the values. Throws
  /// std::bad_alloc with the keys untouched.
  bool sort() {
    const std::uint64_t piece_keys = shared_piece_keys(space_, num_keys_);
    std::vector<std::uint64_t> ends_written(base::ceil_div(num_keys_, piece_keys));
    const bool are_all = for_shared_pieces(space_, num_keys_, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
      return count_and_write(begin, end, ends_written[begin / piece_keys]);
    });
    if (!are_all) {
      write_back(piece_keys, ends_written);
      return false;
    }
    const run_begins begins = begins_of(counts_);
    for_shared_pieces(space_, num_keys_, [&](std::uint64_t begin, std::uint64_t end, unsigned) {
      for (unsigned v = 0; v < few_.count; ++v) {
        const std::uint64_t from = std::max(begin, begins[v]);
        const std::uint64_t to = std::min(end, begins[v + 1]);
        fill(from, std::min(to, expected_[v]), v);
        fill(std::max(from, expected_[v + 1]), to, v);
      }
      return true;
    });
    return true;
  }

 private:
  /// These say where the keys of each value begin in the result, and where those of the last end.
  using run_begins = std::array<std::uint64_t, most_few_values + 1>;
  static constexpr std::uint64_t tile_keys = 16384 / sizeof(K);  ///< stay in the first-level cache

  template <class Counts>
  [[nodiscard]] run_begins begins_of(const Counts& counts) const {
    run_begins begins = {};
    for (unsigned v = 0; v < few_.count; ++v) begins[v + 1] = begins[v] + counts[v];
    return begins;
  }

  /// Returns where the keys of each value would begin if all were like a sample.
  [[nodiscard]] run_begins expect() const {
    constexpr std::uint64_t num_samples = 256;
    std::array<std::uint64_t, most_few_values> counts = {};
    const key_sampler<K> sampled(keys_, num_keys_, num_samples);
    const std::span<const K> values = few_.span();
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      const auto v = static_cast<std::size_t>(std::find(values.begin(), values.end(), sampled(i)) - values.begin());
      if (v < values.size()) counts[v] += num_keys_ / num_samples;
    }
    run_begins begins = begins_of(counts);
    begins[few_.count] = num_keys_;
    return begins;
  }

  void fill(std::uint64_t begin, std::uint64_t end, unsigned v) const {
    if (begin < end) fill_keys(keys_ + begin, end - begin, few_.keys[v], false);
  }

  /// Counts the keys of a piece and writes over them, tile by tile up to `written`. Returns false where it meets
  /// another key.
  bool count_and_write(std::uint64_t begin, std::uint64_t end, std::uint64_t& written) {
    std::array<std::uint64_t, most_few_values> of_piece = {};
    written = begin;
    while (written < end) {
      const std::uint64_t tile_end = std::min(written + tile_keys, end);
      std::array<std::uint64_t, most_few_values> of_tile = {};
      if (!count_values(keys_ + written, tile_end - written, few_.span(), of_tile.data())) break;
      for (unsigned v = 0; v < few_.count; ++v) {
        of_piece[v] += of_tile[v];
        fill(std::max(written, expected_[v]), std::min(tile_end, expected_[v + 1]), v);
      }
      written = tile_end;
    }
    for (unsigned v = 0; v < few_.count; ++v) counts_[v].fetch_add(of_piece[v], std::memory_order_relaxed);
    return written == end;
  }

  /// Leaves as many keys of each value as there were where others have been written.
  void write_back(std::uint64_t piece_keys, const std::vector<std::uint64_t>& ends_written) const {
    unsigned v = 0;
    std::uint64_t left = counts_[0];
    for (std::uint64_t p = 0; p < ends_written.size(); ++p) {
      for (std::uint64_t at = p * piece_keys; at < ends_written[p];) {
        while (left == 0) left = counts_[++v];
        const std::uint64_t to = std::min(ends_written[p], at + left);
        fill(at, to, v);
        left -= to - at;
        at = to;
      }
    }
  }

  const shared_space& space_;
  const few_values<K>& few_;
  K* keys_;
  std::uint64_t num_keys_;
  run_begins expected_;
  std::array<std::atomic<std::uint64_t>, most_few_values> counts_ = {};
};

}  // namespace spansort::device::host

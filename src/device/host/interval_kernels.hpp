// SPDX-License-Identifier: Apache-2.0
// The vector kernel below count_intervals: counts keys below splitters and collects those of marked intervals.
#pragma once

#include <cstdint>
#include <vector>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Splitters as the kernel takes them. A key is marked or not by the last interval's mark, turned over by every turning
/// splitter that is above the key.
template <class K>
struct splitter_list {
  std::vector<K> splitters;  ///< encoded; the turning ones first
  std::size_t num_turning = 0;
  bool last_is_marked = false;
};

/// Keys past the collected ones that collect_intervals() may write.
inline constexpr std::uint64_t collect_slack_keys = 256;

/// Adds to num_below[s] the keys below splitter s, and writes the marked ones, as they are, to `collected`, which has
/// room for num_keys + collect_slack_keys; returns how many. The codec is bijective. K is std::uint8_t, 16, 32 or 64.
template <class K>
std::uint64_t collect_intervals(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                                const splitter_list<K>& list, std::uint64_t* num_below, K* collected);

}  // namespace spansort::device::host

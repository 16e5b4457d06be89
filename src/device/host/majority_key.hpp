// SPDX-License-Identifier: Apache-2.0
// Keys alone of which one value is about half or more, on one thread: the others are moved together and sorted, and the
// run of that value is written between them. Heavy values (count_few.hpp) are several, and cost a look that is dear
// beside a thousand keys.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/host/few_values.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Looks at some of `num_keys` keys. Where one value is most of them, or so much that it pays, moves the others to the
/// front and sets `majority` to that value; what lies behind them is of no value then. Returns how many the others are,
/// and num_keys where nothing was done, as for keys of three values or fewer, which others count. The machine has a
/// vector sort; K has 16, 32 or 64 bits.
template <class K>
[[nodiscard]] std::uint64_t drop_majority(K* keys, std::uint64_t num_keys, K& majority);

/// Writes the run of that value between the others, which lie sorted at the front.
template <class K>
void put_majority_back(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_others, std::uint64_t num_keys,
                       K majority) {
  K* const above = std::lower_bound(keys, keys + num_others, codec.encode_bits(majority),
                                    [&](K key, K encoded) { return codec.encode_bits(key) < encoded; });
  const std::uint64_t num_above = num_others - static_cast<std::uint64_t>(above - keys);
  std::memmove(keys + num_keys - num_above, above, num_above * sizeof(K));
  fill_keys(above, num_keys - num_others, majority, false);
}

/// Sorts keys of which one value is most, and what is left likewise; `sort` sorts the first so many keys. Returns
/// false, with nothing done, where there seems to be no such value.
template <class K, class Sort>
bool sort_majority(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, const Sort& sort) {
  constexpr std::uint64_t fewest = 128;  // fewer are sorted in about the time that the look and the moves take
  if (num_keys < fewest) return false;
  K majority = 0;
  const std::uint64_t num_others = drop_majority(keys, num_keys, majority);
  if (num_others == num_keys) return false;
  // A sample that deceived is not asked again.
  const bool is_sorted = num_others < num_keys / 8 * 7 && sort_majority(codec, keys, num_others, sort);
  if (!is_sorted && num_others != 0) sort(num_others);
  put_majority_back(codec, keys, num_others, num_keys, majority);
  return true;
}

}  // namespace spansort::device::host

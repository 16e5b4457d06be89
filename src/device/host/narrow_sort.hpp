// SPDX-License-Identifier: Apache-2.0
// Sorting keys alone of 16 bits on one thread, inside its caches, in vector instructions: a quicksort that ends in
// networks of up to a thousand keys. The same networks take keys of 8 bits (network_sort.hpp).
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Keys behind the last one that narrow_sort() may overwrite in its scratch.
inline constexpr std::uint64_t narrow_sort_slack_keys = 32;

/// Sorts keys of 16 bits in place by `codec`, which folds no ties. `first` and `second` have room for num_keys +
/// narrow_sort_slack_keys keys each. The machine has a vector sort.
void narrow_sort(const keys::codec_of<std::uint16_t>& codec, std::uint16_t* keys, std::uint64_t num_keys,
                 std::uint16_t* first, std::uint16_t* second);

/// Encoded keys from the least to the greatest one.
struct narrow_range {
  std::uint16_t least = 0;
  std::uint16_t greatest = 0;
};

/// Copies the keys of a range, in their order, to `to`, which has room for `room` and narrow_sort_slack_keys more, and
/// returns how many there are; where they are more, some number above `room`, and what has been copied is of no use.
/// The machine has a vector sort.
[[nodiscard]] std::uint64_t narrow_select(const keys::codec_of<std::uint16_t>& codec, const std::uint16_t* keys,
                                          std::uint64_t num_keys, narrow_range range, std::uint16_t* to,
                                          std::uint64_t room);

}  // namespace spansort::device::host

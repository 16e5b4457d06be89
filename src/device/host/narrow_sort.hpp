// SPDX-License-Identifier: Apache-2.0
// Sorting keys alone of 8 and 16 bits on one thread, inside its caches, in vector instructions: a sorting network in
// registers for up to a thousand keys, above it a quicksort of 16-bit lanes that ends in networks.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Keys behind the last one that narrow_sort() may overwrite in its scratch.
inline constexpr std::uint64_t narrow_sort_slack_keys = 32;
/// The most keys that are sorted without scratch, by any machine's vectors.
inline constexpr std::uint64_t narrow_sort_unscratched = 512;

/// Sorts keys of 16 bits in place by `codec`, which folds no ties. `first` and `second` have room for num_keys +
/// narrow_sort_slack_keys keys each. The machine has a vector sort.
void narrow_sort(const keys::codec_of<std::uint16_t>& codec, std::uint16_t* keys, std::uint64_t num_keys,
                 std::uint16_t* first, std::uint16_t* second);

/// Does the same to up to narrow_sort_unscratched keys of 8 bits, which become keys of 16.
void narrow_sort(const keys::codec_of<std::uint8_t>& codec, std::uint8_t* keys, std::uint64_t num_keys);

}  // namespace spansort::device::host

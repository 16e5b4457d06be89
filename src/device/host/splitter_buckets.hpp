// SPDX-License-Identifier: Apache-2.0
// The buckets of many keys at a time in a tree of splitters, whose upper levels vectors search by permutations of
// registers.
#pragma once

#include <cstdint>

namespace spansort::device::host {

/// Keys that one call takes at most, so that they stay in the first-level cache.
inline constexpr std::uint64_t splitter_tile_keys = 1024;

/// Writes the bucket of each encoded key between the 2^bits - 1 splitters of `tree`, which stand in it from index 1 on
/// in breadth-first order, and from index 2^bits on in ascending order, one more behind the last; `bits` is 1 to 15. K
/// is std::uint32_t or std::uint64_t.
template <class K>
void find_splitter_buckets(const K* tree, unsigned bits, const K* encoded, std::uint64_t num_keys,
                           std::uint16_t* buckets);

}  // namespace spansort::device::host

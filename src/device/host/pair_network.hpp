// SPDX-License-Identifier: Apache-2.0
// The stable sort of a few pairs, and the order of a few keys, by one network of words in registers: a word is a key
// above its position. It works in place and without scratch, behind pointers that the shortest way of a sort looks up.
#pragma once

#include <cstdint>

namespace spansort::device::host {

/// Most keys that one call takes.
inline constexpr std::uint64_t most_network_pairs = 64;

/// Null where this machine's vectors are too narrow. `codec` is a keys::codec_of<K>, and keys are at least two.
struct pair_network {
  void (*sort)(const void* codec, void* keys, void* values, std::uint64_t num_keys) = nullptr;
  void (*order)(const void* codec, const void* keys, void* indices, std::uint64_t num_keys) = nullptr;
};

/// Returns the functions of values and indices of 4 or 8 bytes, of codecs that fold ties or do not. K is std::uint32_t
/// or std::uint64_t.
template <class K>
[[nodiscard]] pair_network find_pair_network(std::uint64_t value_bytes, bool folds_ties);

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// The order of a few keys by one sorting network of words, without scratch.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Most keys that one call takes.
inline constexpr std::uint64_t most_network_words = 64;

/// Writes the positions of up to 64 keys in key order, those of equal keys in theirs. Returns false where keys of 64
/// bits agree in the 58 that a word has room for: then their order may be another. K is std::uint32_t or
/// std::uint64_t; has_vector_sort() says where vectors are wide enough.
template <class K>
[[nodiscard]] bool order_few(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                             std::uint32_t* positions);

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Kernels in vector instructions, through Highway: compiled for every target, chosen at run time.
#pragma once

#include <cstdint>
#include <string>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// What neighbouring keys say about an input's order. All true for fewer than two keys.
struct order_flags {
  bool ascending = true;            ///< no key < its left neighbour
  bool descending = true;           ///< no key > its left neighbour
  bool strictly_descending = true;  ///< every key < its left neighbour

  [[nodiscard]] bool any() const noexcept { return ascending || descending; }
  order_flags& operator&=(order_flags other) noexcept {
    ascending &= other.ascending;
    descending &= other.descending;
    strictly_descending &= other.strictly_descending;
    return *this;
  }
};

// K is std::uint8_t, 16, 32 or 64. "Rank" is codec.encode(key).

/// Compares every key with its left neighbour. One read.
template <class K>
[[nodiscard]] order_flags scan_order(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys);

/// Returns the smallest i whose key is encoded higher than its right neighbour; num_keys when there is none.
template <class K>
[[nodiscard]] std::uint64_t find_descent(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys);

/// Sets a bit for each key that is encoded higher than its right neighbour, of which the last one has one, too: bit
/// i % 64 of word i / 64. One read.
template <class K>
void mark_falls(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, std::uint64_t* falls);

/// Returns the bits in which encoded keys differ from the first of them.
template <class K>
[[nodiscard]] K differing_bits(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys);

/// The instruction set in use: "AVX2", "AVX-512", ...
[[nodiscard]] std::string vector_target();

}  // namespace spansort::device::host

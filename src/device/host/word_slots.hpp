// SPDX-License-Identifier: Apache-2.0
// Records whose keys lie evenly, sorted as 32-bit words of a key's place in its slot and the record's position. The
// slot itself stands for the upper bits of the key, so that the words of up to 2^18 records tell 24 bits and more of
// their keys apart. A key's place is a fraction of the range: the product with the number of slots has the slot above
// its point and the place in it below.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

template <class K>
struct slot_layout {
  K least = 0;
  unsigned shift = 0;            ///< leaves 32 bits of the range
  std::uint64_t multiplier = 0;  ///< makes num_slots of them, with 32 bits below the point
  std::uint64_t num_slots = 0;
  unsigned position_bits = 0;

  slot_layout(K least_key, K greatest, std::uint64_t num_keys, std::uint64_t keys_of_slot) : least(least_key) {
    const K range = static_cast<K>(greatest - least_key);
    shift = std::max(static_cast<unsigned>(std::bit_width(range)), 32U) - 32U;
    num_slots = num_keys / keys_of_slot + 1;
    multiplier = (num_slots << 32) / ((std::uint64_t{range} >> shift) + 1);
    position_bits = static_cast<unsigned>(std::bit_width(num_keys - 1));
  }
  [[nodiscard]] std::uint64_t position_mask() const noexcept { return (std::uint64_t{1} << position_bits) - 1; }
  /// Returns slot and place of an encoded key.
  [[nodiscard]] std::uint64_t product_of(K encoded) const noexcept {
    return (static_cast<std::uint64_t>(static_cast<K>(encoded - least)) >> shift) * multiplier;
  }
  /// Returns what records of one slot and place have in common.
  [[nodiscard]] std::uint64_t group_of(K encoded) const noexcept { return product_of(encoded) >> position_bits; }
};

/// Arrays of a worker.
struct word_slots_scratch {
  std::uint32_t* slots = nullptr;
  std::uint64_t num_words = 0;  ///< room in `slots`
  std::uint32_t* cursors = nullptr;
  std::uint64_t num_cursors = 0;
};

/// Returns how many keys a slot is to hold on average.
[[nodiscard]] std::uint64_t wanted_slot_keys();

/// Writes the sorted words of `num_keys` keys, 128 to 2^18, into `words`; returns false, with nothing of use written,
/// where the keys do not lie evenly or vectors are too narrow. The low bits of a word are the record's position.
/// K is std::uint32_t or std::uint64_t.
template <class K>
[[nodiscard]] bool sort_in_slots(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                                 const slot_layout<K>& layout, std::uint32_t* words, const word_slots_scratch& scratch);

}  // namespace spansort::device::host

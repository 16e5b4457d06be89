// SPDX-License-Identifier: Apache-2.0
// Records are sorted as words: each holds what sets its key apart from the least one above the record's position. Words
// differ all, so that a sort of keys alone, which is not stable, sorts records stably; values are gathered afterwards.
// Where key and position do not fit, the key's low bits are left out, and records that tie in the others are looked at
// again.
#pragma once

#include <cstdint>

#include "keys/codec.hpp"

namespace spansort::device::host {

/// Encoded keys, ties folded.
template <class K>
struct key_range {
  K least = 0;
  K greatest = 0;
};

template <class K>
struct word_layout {
  K least = 0;                 ///< is subtracted from encoded keys
  unsigned dropped_bits = 0;   ///< low bits of the difference that find no room
  unsigned position_bits = 0;  ///< low bits of the word

  [[nodiscard]] std::uint64_t position_mask() const noexcept { return (std::uint64_t{1} << position_bits) - 1; }
};

/// Returns the least and the greatest of `num_keys` > 0 keys. K is std::uint32_t or std::uint64_t.
template <class K>
[[nodiscard]] key_range<K> find_range(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys);

/// Writes the words of `num_keys` keys. W, too, is std::uint32_t or std::uint64_t; what the layout says fits it.
template <class K, class W>
void make_words(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, const word_layout<K>& layout,
                W* words);

/// Returns how many of `num_words` sorted words agree with the next above the position.
template <class W>
[[nodiscard]] std::uint64_t count_ties(const W* words, std::uint64_t num_words, unsigned position_bits);

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Records are sorted as words: each holds what sets its key apart from the least one above the record's position. Words
// differ all, so that a sort of keys alone, which is not stable, sorts records stably; values are gathered afterwards.
// Where key and position do not fit, the key's low bits are left out, and records that tie in the others are looked at
// again.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "device/host/records.hpp"
#include "keys/codec.hpp"

namespace spansort::device::host {

/// Encoded keys, ties folded.
template <class K>
struct key_range {
  K least = 0;
  K greatest = 0;
};

/// The bits of an unsigned number that is rounded to a float of its width, from 0 for zero on: they ascend as it does,
/// and where their low bits are dropped small numbers keep more of theirs than large ones.
template <class K>
[[nodiscard]] inline K rounded_bits(K x) noexcept {
  if constexpr (sizeof(K) == 4) {
    // Halves are exact, and their sum is rounded once.
    const float rounded = static_cast<float>(static_cast<std::int32_t>(x >> 16)) * 65536.0F +
                          static_cast<float>(static_cast<std::int32_t>(x & 0xFFFF));
    const K bits = std::bit_cast<K>(rounded);
    constexpr K before_one = K{126} << 23;
    return bits < before_one ? K{0} : static_cast<K>(bits - before_one);
  } else {
    // The bits of 2^52 above those of a number below it are their sum.
    constexpr std::uint64_t above = 0x4330000000000000;
    constexpr double two_to_52 = 4503599627370496.0;
    const double high = std::bit_cast<double>(above | x >> 32) - two_to_52;
    const double low = std::bit_cast<double>(above | (x & 0xFFFFFFFF)) - two_to_52;
    const K bits = std::bit_cast<K>(high * 4294967296.0 + low);
    constexpr K before_one = K{1022} << 52;
    return bits < before_one ? K{0} : static_cast<K>(bits - before_one);
  }
}
/// Bits that it has at most.
template <class K>
inline constexpr unsigned most_rounded_bits = sizeof(K) == 4 ? 29 : 59;

template <class K>
struct word_layout {
  K least = 0;                 ///< is subtracted from encoded keys
  unsigned dropped_bits = 0;   ///< low bits of the difference that find no room
  unsigned position_bits = 0;  ///< low bits of the word
  bool is_rounded = false;     ///< rounded_bits() of the difference stand for it

  /// The word without its position.
  [[nodiscard]] K above_of(K encoded) const noexcept {
    const K difference = static_cast<K>(encoded - least);
    return (is_rounded ? rounded_bits(difference) : difference) >> dropped_bits;
  }

  [[nodiscard]] std::uint64_t position_mask() const noexcept { return (std::uint64_t{1} << position_bits) - 1; }
};

/// Returns the least and the greatest of `num_keys` > 0 keys. K is std::uint32_t or std::uint64_t.
template <class K>
[[nodiscard]] key_range<K> find_range(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys);

/// Writes the words of `num_keys` keys. W, too, is std::uint32_t or std::uint64_t; what the layout says fits it, and
/// rounds for words of 32 bits alone.
template <class K, class W>
void make_words(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, const word_layout<K>& layout,
                W* words);

/// Returns how many of `num_words` sorted words agree with the next above the position.
template <class W>
[[nodiscard]] std::uint64_t count_ties(const W* words, std::uint64_t num_words, unsigned position_bits);

/// Returns how many of `num_keys` keys are lower than the one before.
template <class K>
[[nodiscard]] std::uint64_t count_descents(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys);

/// Writes the keys whose words hold them whole: what stands above the position, and the least of them added.
template <class K, class W>
void decode_words(const keys::codec_of<K>& codec, const W* words, std::uint64_t num_words, unsigned position_bits,
                  K least, K* keys);

/// Writes the words' positions, as numbers of 4 or 8 bytes of any alignment.
template <class W>
void take_positions(const W* words, std::uint64_t num_words, unsigned position_bits, value4* to);
template <class W>
void take_positions(const W* words, std::uint64_t num_words, unsigned position_bits, value8* to);

/// Items that are gathered in the order of sorted runs come from one line of each run in turn. Where runs begin a power
/// of two apart these lines are all of the same few sets of the first-level cache, and 2^16 u32(u32) of 64 runs took
/// 7.6 ns a pair and not 3.6. A line's worth of items is left free behind every so many of them instead.
inline constexpr unsigned padded_run_bits = 8;
inline constexpr unsigned padding_bits = 4;
/// Returns where an item lies in a padded array.
[[nodiscard]] constexpr std::uint64_t padded_place(std::uint64_t position) noexcept {
  return position + (position >> padded_run_bits << padding_bits);
}
/// Copies items of `item_bytes` to a padded array.
inline void copy_padded(const void* from, std::uint64_t num_items, std::uint64_t item_bytes, void* to) {
  constexpr std::uint64_t run = std::uint64_t{1} << padded_run_bits;
  for (std::uint64_t i = 0; i < num_items; i += run) {
    std::memcpy(static_cast<char*>(to) + padded_place(i) * item_bytes, static_cast<const char*>(from) + i * item_bytes,
                std::min(run, num_items - i) * item_bytes);
  }
}

/// An array of items from which to gather.
struct item_array {
  const void* items = nullptr;
  bool is_padded = false;
};

/// Copies what lies at the words' positions in `from` to `to`, in the order of the words; the arrays do not overlap.
/// Items have 4, 8 or 16 bytes and any alignment.
template <class W>
void gather_items(const W* words, std::uint64_t num_words, unsigned position_bits, item_array from, unsigned item_bytes,
                  void* to);

/// A key of 32 bits below a value of as many: one load of both serves where a line of each would be fetched.
using packed_pair = std::uint64_t;
struct packed_array {
  const packed_pair* pairs = nullptr;
  bool is_padded = false;
};

void pack_pairs(const std::uint32_t* keys, const value4* values, std::uint64_t num_pairs, packed_pair* to,
                bool is_padded);

/// Writes keys and values of the pairs at the words' positions, in the order of the words.
template <class W>
void gather_pairs(const W* words, std::uint64_t num_words, unsigned position_bits, packed_array from,
                  std::uint32_t* keys, value4* values);

}  // namespace spansort::device::host

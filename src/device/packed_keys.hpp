// SPDX-License-Identifier: Apache-2.0
// Sorted keys as the differences between them, which take a fraction of their bits: a form in which they cross a link
// that is slower than the threads that add the differences up again. It is the frame-of-reference coding of integer
// lists (Lemire and Boytsov, "Decoding billions of integers per second through vectorization", 2015, sections 2 and
// 3), with 32 lanes, for that is what a warp of a GPU has.
//
// A block is 64 rows of 32 neighbouring encoded keys. Of each key but those of the first row, the difference to the key
// above it is kept, in as many bits as the largest difference of the block needs. Where keys are spread evenly 2e9 keys
// of 4 bytes need 7 bits each, and 10^9 keys of 8 bytes 40.
//
// In memory: the number of bits of each block (a packed_bits each, with room up to a line), then the blocks, each in
// room for the widest. A block: the first row, then for each group of as many rows as a key has bits, `bits` rows of
// words of a key's width; difference j of lane l's group lies in the bits from j * bits on of the words of lane l, the
// lowest bits of the first word first. Rows past the last key repeat it.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "keys/codec.hpp"

namespace spansort::device {

using packed_bits = std::uint32_t;

/// The sizes of blocks of keys of one width.
template <std::unsigned_integral K>
struct packed_layout {
  static constexpr unsigned lanes = 32;
  static constexpr unsigned rows = 64;
  static constexpr unsigned block_keys = lanes * rows;
  static constexpr unsigned group_rows = 8 * sizeof(K);  ///< whose differences fill whole words, whatever their bits
  static constexpr unsigned num_groups = rows / group_rows;
  static constexpr unsigned block_words = lanes + block_keys;  ///< of the widest block
};

/// Keys of each width in a block, of whatever width.
inline constexpr std::uint64_t packed_block_keys = packed_layout<std::uint32_t>::block_keys;

/// The places of `num_keys` keys of a width in memory once they are packed.
struct packed_memory {
  packed_bits* bits = nullptr;
  void* blocks = nullptr;

  static constexpr std::uint64_t alignment_bytes = 128;  ///< a line of a GPU's memory

  [[nodiscard]] static constexpr std::uint64_t bits_bytes(std::uint64_t num_keys) noexcept {
    return base::round_up<std::uint64_t>(base::ceil_div(num_keys, packed_block_keys) * sizeof(packed_bits),
                                         alignment_bytes);
  }
  [[nodiscard]] static constexpr std::uint64_t size_bytes(unsigned width_bytes, std::uint64_t num_keys) noexcept {
    constexpr std::uint64_t block_words = packed_layout<std::uint32_t>::block_words;
    return bits_bytes(num_keys) + base::ceil_div(num_keys, packed_block_keys) * block_words * width_bytes;
  }
  /// Lays them out in size_bytes() of `memory`, which is aligned to alignment_bytes.
  [[nodiscard]] static packed_memory in(void* memory, std::uint64_t num_keys) noexcept {
    return {static_cast<packed_bits*>(memory), static_cast<char*>(memory) + bits_bytes(num_keys)};
  }
};
static_assert(packed_layout<std::uint32_t>::block_words == packed_layout<std::uint64_t>::block_words);

/// Returns whether sorted keys of 4 or 8 bytes, `num_keys` of them, cross a link in at most three quarters of their
/// bytes if they are spread evenly over all that there are. However they are spread, they take four bits more at worst.
[[nodiscard]] bool is_worth_packing(const keys::key_codec& codec, std::uint64_t num_keys) noexcept;

/// Calls `f.template operator()<K>()` with the unsigned integer of the keys' width, 4 or 8 bytes.
template <class F>
void with_packed_width(const keys::key_codec& codec, const F& f) {
  SPANSORT_ASSERT(codec.is_bijective());
  if (codec.width_bytes() == 4) return f.template operator()<std::uint32_t>();
  SPANSORT_ASSERT(codec.width_bytes() == 8);
  f.template operator()<std::uint64_t>();
}

/// Packs sorted keys of 4 or 8 bytes on the calling thread. The codec is bijective.
void pack_keys(const keys::key_codec& codec, const void* keys, std::uint64_t num_keys, const packed_memory& to);

/// Unpacks what pack_keys() has made of as many keys. Blocks, on up to `threads` threads that oneTBB lends the caller,
/// counted as sort_options::threads, and alone where memory ends: it does not throw. Stores past the caches.
void unpack_keys(const keys::key_codec& codec, const packed_memory& from, std::uint64_t num_keys, void* keys,
                 unsigned threads = 0);

}  // namespace spansort::device

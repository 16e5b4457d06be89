// SPDX-License-Identifier: Apache-2.0
#include "device/packed_keys.hpp"

#include <oneapi/tbb/blocked_range.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/tasks_or_alone.hpp"
#include "base/threads.hpp"
#include "device/streaming.hpp"

namespace spansort::device {
namespace {

/// The number of blocks that a thread takes at a time: some 10 us of work.
constexpr std::uint64_t blocks_of_a_task = 16;

template <class K>
packed_bits pack_block(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys, K* to) {
  using layout = packed_layout<K>;
  K encoded[layout::block_keys];
  for (std::uint64_t i = 0; i < layout::block_keys; ++i) encoded[i] = codec.encode(keys[std::min(i, num_keys - 1)]);
  const auto difference = [&](unsigned row, unsigned lane) {
    const K* const at = encoded + row * layout::lanes + lane;
    return row == 0 ? K{0} : static_cast<K>(at[0] - at[-static_cast<int>(layout::lanes)]);
  };
  K any = 0;
  for (unsigned i = 0; i < layout::block_keys; ++i) any |= difference(i / layout::lanes, i % layout::lanes);
  const auto bits = static_cast<unsigned>(std::bit_width(any));

  std::copy_n(encoded, layout::lanes, to);
  K* const words = to + layout::lanes;
  std::fill_n(words, std::uint64_t{layout::num_groups} * bits * layout::lanes, K{0});
  if (bits == 0) return 0;
  for (unsigned row = 0; row < layout::rows; ++row) {
    K* const group = words + std::uint64_t{row / layout::group_rows} * bits * layout::lanes;
    const unsigned begin = row % layout::group_rows * bits;
    const unsigned word = begin / layout::group_rows;
    const unsigned shift = begin % layout::group_rows;
    for (unsigned lane = 0; lane < layout::lanes; ++lane) {
      const K d = difference(row, lane);
      group[word * layout::lanes + lane] |= static_cast<K>(d << shift);
      if (shift + bits > layout::group_rows) {
        group[(word + 1) * layout::lanes + lane] |= static_cast<K>(d >> (layout::group_rows - shift));
      }
    }
  }
  return bits;
}

/// A vector holds some lanes of a row, in a type of the compilers' own, which they cut into the registers there are.
template <class K>
struct lane_vector {
  static constexpr unsigned lanes = 64 / sizeof(K);
  typedef K type __attribute__((vector_size(64)));  // NOLINT(modernize-use-using): an alias would lose the attribute
};

/// Adds the differences up, row by row, for the lanes from `lane` on.
template <class K>
[[gnu::always_inline]] inline void unpack_lanes(const K* block, unsigned bits, unsigned lane, K* encoded) {
  using layout = packed_layout<K>;
  using vector = typename lane_vector<K>::type;
  constexpr unsigned word_bits = layout::group_rows;
  const K mask = bits == 0 ? K{0} : static_cast<K>(~K{0} >> (word_bits - bits));
  vector at;
  std::memcpy(&at, block + lane, sizeof(at));
  unsigned begin = 0;  // of the row's difference in the lane's bits: groups of rows fill whole words
  for (unsigned row = 0; row < layout::rows; ++row, begin += bits) {
    const unsigned shift = begin % word_bits;
    const K* const low = block + layout::lanes + std::uint64_t{begin / word_bits} * layout::lanes + lane;
    // A difference may end in its first word; the mask then takes away what comes from another one.
    const K* const high = shift + bits > word_bits ? low + layout::lanes : low;
    vector lower;
    vector upper;
    std::memcpy(&lower, low, sizeof(lower));
    std::memcpy(&upper, high, sizeof(upper));
    at += ((lower >> shift) | (upper << 1 << (word_bits - 1 - shift))) & mask;
    std::memcpy(encoded + row * layout::lanes + lane, &at, sizeof(at));
  }
}

template <class K>
[[gnu::always_inline]] inline void unpack_block(const K* block, unsigned bits, K* encoded) {
  for (unsigned lane = 0; lane < packed_layout<K>::lanes; lane += lane_vector<K>::lanes) {
    unpack_lanes(block, bits, lane, encoded);
  }
}

// Three functions do that for the registers of three generations. Highway, which other rooms choose instructions by, is
// not needed for shifts and additions.

template <class K>
void unpack_block_anywhere(const K* block, unsigned bits, K* encoded) {
  unpack_block(block, bits, encoded);
}
#if defined(__x86_64__)
template <class K>
[[gnu::target("avx2")]] void unpack_block_avx2(const K* block, unsigned bits, K* encoded) {
  unpack_block(block, bits, encoded);
}
template <class K>
[[gnu::target("avx512f")]] void unpack_block_avx512(const K* block, unsigned bits, K* encoded) {
  unpack_block(block, bits, encoded);
}
#endif

template <class K>
using block_unpacker = void (*)(const K* block, unsigned bits, K* encoded);

template <class K>
block_unpacker<K> best_unpacker() noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") != 0) return unpack_block_avx512<K>;
  if (__builtin_cpu_supports("avx2") != 0) return unpack_block_avx2<K>;
#endif
  return unpack_block_anywhere<K>;
}

template <class K>
void unpack_blocks(const keys::codec_of<K>& codec, const packed_memory& from, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t num_keys, K* to) {
  using layout = packed_layout<K>;
  static const block_unpacker<K> unpack = best_unpacker<K>();
  alignas(64) K keys[layout::block_keys];
  for (std::uint64_t b = begin; b < end; ++b) {
    const K* const block = static_cast<const K*>(from.blocks) + b * layout::block_words;
    unpack(block, from.bits[b], keys);
    if (!codec.is_identity()) {
      for (K& key : keys) key = codec.decode(key);
    }
    const std::uint64_t first = b * layout::block_keys;
    write_sequence(to + first, keys, std::min<std::uint64_t>(layout::block_keys, num_keys - first) * sizeof(K), true);
  }
  finish_streaming();
}

}  // namespace

bool is_worth_packing(const keys::key_codec& codec, std::uint64_t num_keys) noexcept {
  if (!codec.is_bijective() || (codec.width_bytes() != 4 && codec.width_bytes() != 8) || num_keys == 0) return false;
  const unsigned key_bits = codec.key_bits();
  // A row's distance in evenly spread keys, and one bit more for the largest one of a block.
  const unsigned row_bits = std::bit_width(packed_layout<std::uint32_t>::lanes) + 1;
  const auto count_bits = static_cast<unsigned>(std::bit_width(num_keys)) - 1;
  return key_bits - std::min(key_bits, count_bits) + row_bits <= key_bits / 4 * 3;
}

void pack_keys(const keys::key_codec& codec, const void* keys, std::uint64_t num_keys, const packed_memory& to) {
  with_packed_width(codec, [&]<class K>() {
    using layout = packed_layout<K>;
    const keys::codec_of<K> of_width = codec.of<K>();
    for (std::uint64_t b = 0; b * layout::block_keys < num_keys; ++b) {
      const std::uint64_t first = b * layout::block_keys;
      to.bits[b] = pack_block(of_width, static_cast<const K*>(keys) + first,
                              std::min<std::uint64_t>(layout::block_keys, num_keys - first),
                              static_cast<K*>(to.blocks) + b * layout::block_words);
    }
  });
}

void unpack_keys(const keys::key_codec& codec, const packed_memory& from, std::uint64_t num_keys, void* keys,
                 unsigned threads) {
  with_packed_width(codec, [&]<class K>() {
    const keys::codec_of<K> of_width = codec.of<K>();
    const std::uint64_t num_blocks = base::ceil_div(num_keys, packed_block_keys);
    const auto unpack = [&](std::uint64_t begin, std::uint64_t end) {
      unpack_blocks<K>(of_width, from, begin, end, num_keys, static_cast<K*>(keys));
    };
    if (num_blocks <= blocks_of_a_task) return unpack(0, num_blocks);
    // The work has a group of its own: when the caller's tasks are cancelled, it must not be left half done.
    tbb::task_group_context own(tbb::task_group_context::isolated);
    const tbb::blocked_range<std::uint64_t> all(0, num_blocks, blocks_of_a_task);
    const auto unpack_part = [&](const tbb::blocked_range<std::uint64_t>& part) { unpack(part.begin(), part.end()); };
    base::in_tasks_or_alone(
        [&] {
          base::with_threads(threads, [&] { tbb::parallel_for(all, unpack_part, tbb::simple_partitioner(), own); });
        },
        [&] { unpack(0, num_blocks); });
  });
}

}  // namespace spansort::device

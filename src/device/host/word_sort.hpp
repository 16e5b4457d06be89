// SPDX-License-Identifier: Apache-2.0
// Stable sort of records on one thread, inside its caches, as words of key and position (key_words.hpp): the words by
// the vector sort of keys alone, then the values by their positions. Words of 32 bits serve few records, of which their
// upper key bits tell most apart, and keys that differ in few bits; words of 64 bits serve the others.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <type_traits>
#include <utility>

#include "device/host/key_words.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/vector_sort.hpp"
#include "device/host/word_slots.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

/// Most records of one sort in a worker's scratch.
template <class K, class V>
inline constexpr std::uint64_t in_cache_keys = max_local_bytes / sizeof(packed_record<K, V>);

template <class K, class V, class Order>
class word_sorter {
 public:
  using split = split_records<K, V>;

  word_sorter(const Order& order, const keys::codec_of<K>& codec, worker_scratch& scratch, bool stream)
      : order_(order), codec_(codec), scratch_(scratch), stream_(stream) {}

  /// Whole keys of 32 and 64 bits with values, where vectors are wide.
  [[nodiscard]] static bool takes(std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (value_bytes_of<V> == 0 || sizeof(K) < 4) return false;
    return bits.begin == 0 && num_keys >= fewest_keys && num_keys <= 2 * max_words && num_keys <= in_cache_keys<K, V> &&
           has_vector_sort();
  }

  /// Sorts what takes() says into `result`, which is `from` itself or does not overlap it. Returns false, with nothing
  /// written, where words of 64 bits find no room.
  bool sort(split from, split result, std::uint64_t num_keys) {
    return with_words(from.keys, num_keys, writer(from, result, num_keys));
  }

  /// Does the same to keys that lie evenly, or have so few bits that words of 32 bits hold them whole. Returns false,
  /// with nothing written, where others are to be sorted some other way.
  bool sort_short(split from, split result, std::uint64_t num_keys) {
    return use_short_words(from.keys, num_keys, find_range(codec_, from.keys, num_keys),
                           writer(from, result, num_keys));
  }

  /// Writes the positions of the keys in order. Returns false, with nothing of use written, where it takes a sort of
  /// records. Keys that tie in many bits are gathered in memory for combined lines, which nobody uses meanwhile.
  bool order(const K* keys, std::uint64_t num_keys, V* indices) {
    bool done = true;
    return with_words(keys, num_keys,
                      [&](const auto& sorted, const auto& group_of_encoded) {
                        const bool are_ordered = !sorted.may_tie || order_ties(keys, num_keys, sorted);
                        done = are_ordered || num_keys * sizeof(K) <= combining_bytes;
                        if (!done) return;
                        take_positions(sorted.words, num_keys, sorted.position_bits, indices);
                        if (are_ordered) return;
                        const split gathered{reinterpret_cast<K*>(scratch_.combining.get()), indices};
                        for (std::uint64_t i = 0; i < num_keys; ++i) gathered.keys[i] = keys[sorted.position(i)];
                        sort_ties(gathered, num_keys, group_of_encoded);
                      }) &&
           done;
  }

 private:
  static constexpr std::uint64_t num_counts = (std::uint64_t{1} << max_digit_bits) * max_local_digits;
  static constexpr std::uint64_t fewest_keys = 9;
  static constexpr std::uint64_t most_short_words = 2048;
  static constexpr std::uint64_t most_rounded_words = std::uint64_t{1} << 14;
  static constexpr std::uint64_t fewest_to_tell_apart = 513;  ///< a sample takes its time
  static constexpr std::uint64_t fewest_for_slots = 2049;
  static constexpr std::uint64_t few_ties = 8;
  static constexpr bool packs = sizeof(K) == 4 && value_bytes_of<V> == 4;
  static constexpr std::uint64_t fewest_padded = std::uint64_t{1} << 14;  ///< fewer lie in the first-level cache
  /// Arrays that are read and written at once begin at different offsets in their pages: loads would wait for stores to
  /// the same offset.
  static constexpr std::uint64_t first_offset = 17 * 64;
  static constexpr std::uint64_t second_offset = 37 * 64;

  template <class W>
  struct sorted_words {
    W* words = nullptr;
    unsigned position_bits = 0;
    bool may_tie = false;   ///< some may agree above the position and have different keys
    bool has_keys = false;  ///< whole encoded keys stand above the positions, less the least
    K least = 0;

    [[nodiscard]] std::uint64_t position(std::uint64_t i) const noexcept {
      return words[i] & static_cast<W>((W{1} << position_bits) - 1);
    }
  };

  /// Returns what writes records in the order of their words.
  [[nodiscard]] auto writer(split from, split result, std::uint64_t num_keys) {
    return [=, this](const auto& sorted, const auto& group_of_encoded) {
      write_result(from, result, num_keys, sorted);
      if (sorted.may_tie) sort_ties(result, num_keys, group_of_encoded);
    };
  }

  /// Calls use(sorted_words, group_of_encoded) with the sorted words, unless they find no room.
  template <class Use>
  bool with_words(const K* keys, std::uint64_t num_keys, const Use& use) {
    const key_range<K> range = find_range(codec_, keys, num_keys);
    if (use_short_words(keys, num_keys, range, use)) return true;
    const unsigned key_bits = bits_of(range);
    const word_layout<K> layout = layout_of(range, num_keys);
    if (num_keys <= most_rounded_words && crowd_low(keys, num_keys, range, key_bits)) {
      word_layout<K> rounded = layout;
      rounded.is_rounded = true;
      const bool is_worth_it = num_keys < fewest_to_tell_apart ? lose_low_keys(keys, num_keys, layout, key_bits)
                                                               : tell_apart(keys, num_keys, rounded);
      if (is_worth_it && use_words<std::uint32_t>(keys, num_keys, rounded, most_rounded_bits<K>, use)) return true;
    } else if (num_keys <= most_short_words) {
      if (use_words<std::uint32_t>(keys, num_keys, layout, key_bits, use)) return true;
    }
    return num_keys <= max_words && use_words<std::uint64_t>(keys, num_keys, layout, key_bits, use);
  }

  /// Does the same where words of 32 bits lose nothing: keys that all tie, lie evenly, or have few bits.
  template <class Use>
  bool use_short_words(const K* keys, std::uint64_t num_keys, const key_range<K>& range, const Use& use) {
    if (range.least == range.greatest) return use_positions(num_keys, use);
    if (num_keys >= fewest_for_slots && use_slots(keys, num_keys, range, use)) return true;
    const word_layout<K> layout = layout_of(range, num_keys);
    return bits_of(range) + layout.position_bits <= 32 &&
           use_words<std::uint32_t>(keys, num_keys, layout, bits_of(range), use);
  }

  [[nodiscard]] static unsigned bits_of(const key_range<K>& range) {
    return static_cast<unsigned>(std::bit_width(static_cast<K>(range.greatest - range.least)));
  }
  [[nodiscard]] static word_layout<K> layout_of(const key_range<K>& range, std::uint64_t num_keys) {
    return {range.least, 0, static_cast<unsigned>(std::bit_width(num_keys - 1))};
  }

  /// Returns whether half of eight keys lie in the lowest sixteenth of the range.
  [[nodiscard]] bool crowd_low(const K* keys, std::uint64_t num_keys, key_range<K> range, unsigned key_bits) const {
    constexpr std::uint64_t num_samples = 8;
    unsigned low = 0;
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      const K difference = static_cast<K>(order_.encode(keys[i * (num_keys / num_samples)]) - range.least);
      low += difference >> (key_bits - 4) == 0 ? 1U : 0U;
    }
    return low >= num_samples / 2;
  }

  /// Returns whether words of 64 bits would leave nothing of some of eight keys. All others are worth such words: to
  /// find that short ones leave too much to repair takes longer than they save.
  [[nodiscard]] bool lose_low_keys(const K* keys, std::uint64_t num_keys, const word_layout<K>& layout,
                                   unsigned key_bits) const {
    constexpr std::uint64_t num_samples = 8;
    const unsigned dropped_bits = std::max(key_bits + layout.position_bits, 64U) - 64U;
    unsigned lost = 0;
    for (std::uint64_t i = 0; i < num_samples && dropped_bits != 0; ++i) {
      const K difference = static_cast<K>(order_.encode(keys[i * (num_keys / num_samples)]) - layout.least);
      lost += difference >> dropped_bits == 0 ? 1U : 0U;
    }
    return lost > 1;
  }

  /// Returns whether words of 32 bits tell the different keys of a sample apart.
  [[nodiscard]] bool tell_apart(const K* keys, std::uint64_t num_keys, word_layout<K> layout) const {
    constexpr std::uint64_t num_samples = 64;
    constexpr unsigned most_ties = 1;
    layout.dropped_bits = most_rounded_bits<K> + layout.position_bits - 32;
    std::uint64_t words[num_samples];
    for (std::uint64_t i = 0; i < num_samples; ++i) {
      const K encoded = order_.encode(keys[i * (num_keys / num_samples)]);
      words[i] = std::uint64_t{layout.above_of(encoded)} << 32 | (static_cast<std::uint64_t>(encoded) & 0xFFFFFFFF);
    }
    vector_sort(keys::codec_of<std::uint64_t>{}, words, words, num_samples, vector_scratch<std::uint64_t>());
    unsigned ties = 0;
    for (std::uint64_t i = 1; i < num_samples; ++i) {
      const std::uint64_t differing = words[i] ^ words[i - 1];
      ties += differing != 0 && differing >> 32 == 0 ? 1U : 0U;
    }
    return ties <= most_ties;
  }

  /// Keys that tie all: positions are their own order.
  template <class Use>
  bool use_positions(std::uint64_t num_keys, const Use& use) {
    auto* const words = reinterpret_cast<std::uint32_t*>(scratch_.words.get());
    std::iota(words, words + num_keys, std::uint32_t{0});
    use(sorted_words<std::uint32_t>{words, 31}, [](K) { return 0; });
    return true;
  }

  /// Returns false where keys do not lie evenly.
  template <class Use>
  bool use_slots(const K* keys, std::uint64_t num_keys, key_range<K> range, const Use& use) {
    const slot_layout<K> layout(range.least, range.greatest, num_keys, wanted_slot_keys());
    auto* const words = reinterpret_cast<std::uint32_t*>(scratch_.words.get());
    const word_slots_scratch scratch{reinterpret_cast<std::uint32_t*>(scratch_.records[1].get()), max_local_bytes / 4,
                                     scratch_.digit_counts.get(), num_counts};
    if (!sort_in_slots(codec_, keys, num_keys, layout, words, scratch)) return false;
    const sorted_words<std::uint32_t> sorted{words, layout.position_bits, true};
    use(sorted, [&](K encoded) { return layout.group_of(encoded); });
    return true;
  }

  /// Returns false where short words leave too much to repair. Keys that tie may be equal.
  template <class W, class Use>
  bool use_words(const K* keys, std::uint64_t num_keys, word_layout<K> layout, unsigned key_bits, const Use& use) {
    constexpr unsigned width = sizeof(W) * 8;
    layout.dropped_bits = std::max(key_bits + layout.position_bits, width) - width;
    W* const words = reinterpret_cast<W*>(scratch_.words.get());
    make_words(codec_, keys, num_keys, layout, words);
    const vector_sort_scratch<W> scratch = vector_scratch<W>();
    for (W* array : {words, scratch.first, scratch.second}) touch_behind(array, num_keys);
    vector_sort(keys::codec_of<W>{}, words, words, num_keys, scratch);
    const bool is_whole = layout.dropped_bits == 0;
    const std::uint64_t num_ties = is_whole ? 0 : count_ties(words, num_keys, layout.position_bits);
    const bool has_keys = is_whole && !std::is_same_v<Order, folding_order<K>>;
    sorted_words<W> sorted{words, layout.position_bits, num_ties != 0, has_keys, layout.least};
    if (sizeof(W) == 4 && num_ties > num_keys / 16) {
      // Short words leave the other half of their memory free.
      static_assert(most_rounded_words * sizeof(K) <= max_words * sizeof(std::uint64_t) / 2);
      K* const in_order = reinterpret_cast<K*>(scratch_.words.get() + max_words / 2);
      gather_items(words, num_keys, layout.position_bits, {keys}, sizeof(K), in_order);
      const std::uint64_t num_descents = count_descents(codec_, in_order, num_keys);
      if (num_descents > num_keys / 32) return false;
      sorted.may_tie = num_descents != 0;
    }
    use(sorted, [&](K encoded) { return layout.above_of(encoded); });
    return true;
  }

  /// Networks end in masked vectors. Where these reach a page that has never been written, microcode undoes them, so
  /// that 2^10 pairs took 3.0 us and not 1.4.
  template <class W>
  static void touch_behind(W* array, std::uint64_t num_words) {
    array[num_words + 64 / sizeof(W) - 1] = 0;
  }

  template <class W>
  [[nodiscard]] vector_sort_scratch<W> vector_scratch() const {
    constexpr std::uint64_t num_words = (max_local_bytes - 4096) / sizeof(W);
    return {.first = reinterpret_cast<W*>(scratch_.records[0].get() + first_offset),
            .second = reinterpret_cast<W*>(scratch_.records[1].get() + second_offset),
            .num_keys = num_words,
            .num_second_keys = num_words,
            .cursors = scratch_.digit_counts.get(),
            .num_cursors = num_counts};
  }

  /// Copies what is still to be read of records that are overwritten.
  [[nodiscard]] split set_aside(split from, std::uint64_t num_keys, bool values_alone, bool is_padded) {
    static_assert(padded_place(in_cache_keys<K, V>) * std::max(sizeof(K), sizeof(V)) <= max_local_bytes);
    const split aside{reinterpret_cast<K*>(scratch_.records[0].get()), reinterpret_cast<V*>(scratch_.records[1].get())};
    const auto copy = [&](const void* items, std::uint64_t item_bytes, void* to) {
      if (is_padded) return copy_padded(items, num_keys, item_bytes, to);
      std::memcpy(to, items, num_keys * item_bytes);
    };
    if (!values_alone) copy(from.keys, sizeof(K), aside.keys);
    copy(from.values, sizeof(V), aside.values);
    return aside;
  }

  /// Reads what is about to be read in random order: a partition has written it past the caches.
  static void fetch(const V* values, std::uint64_t num_keys) {
    const char* const bytes = reinterpret_cast<const char*>(values);
    for (std::uint64_t i = 0; i < num_keys * sizeof(V); i += 64) __builtin_prefetch(bytes + i, 0, 2);
  }

  /// Packed pairs are read at once from where they lie beside the caller's arrays: 2^12 u32(u32) took 3.5 ns a pair
  /// with gathers of keys and of values, and take 3.0.
  template <class W>
  void write_packed(split from, split result, std::uint64_t num_keys, const sorted_words<W>& sorted) {
    auto* const pairs = reinterpret_cast<packed_pair*>(scratch_.records[0].get());
    const bool is_padded = num_keys >= fewest_padded && padded_place(num_keys) * sizeof(packed_pair) <= max_local_bytes;
    pack_pairs(from.keys, from.values, num_keys, pairs, is_padded);
    gather_pairs(sorted.words, num_keys, sorted.position_bits, {pairs, is_padded}, result.keys, result.values);
  }

  /// Writes records in blocks where they go past the caches, so that the result's lines are written whole.
  template <class W>
  void write_result(split from, split result, std::uint64_t num_keys, const sorted_words<W>& sorted) {
    constexpr std::uint64_t block_keys = 256;
    if constexpr (packs) {
      if (!stream_) return write_packed(from, result, num_keys, sorted);
    }
    const bool in_place = from.keys == result.keys;
    const bool is_padded = in_place && num_keys >= fewest_padded;
    const split source = in_place ? set_aside(from, num_keys, sorted.has_keys, is_padded) : from;
    if (!in_place) fetch(from.values, num_keys);
    if (!stream_) return write_block(source, is_padded, sorted, 0, num_keys, result);
    K keys[block_keys];
    V values[block_keys];
    for (std::uint64_t i = 0; i < num_keys; i += block_keys) {
      const std::uint64_t n = std::min(block_keys, num_keys - i);
      write_block(source, is_padded, sorted, i, n, {keys, values});
      write_sequence(result.keys + i, keys, n * sizeof(K), true);
      write_sequence(result.values + i, values, n * sizeof(V), true);
    }
    finish_streaming();
  }

  template <class W>
  void write_block(split source, bool is_padded, const sorted_words<W>& sorted, std::uint64_t begin,
                   std::uint64_t num_keys, split to) {
    const W* const words = sorted.words + begin;
    if (sorted.has_keys) {
      decode_words(codec_, words, num_keys, sorted.position_bits, sorted.least, to.keys);
    } else {
      gather_items(words, num_keys, sorted.position_bits, {source.keys, is_padded}, sizeof(K), to.keys);
    }
    gather_items(words, num_keys, sorted.position_bits, {source.values, is_padded}, value_bytes_of<V>, to.values);
  }

  /// Puts words that tie in the order of their keys. Returns false where that takes many steps.
  template <class W>
  bool order_ties(const K* keys, std::uint64_t num_keys, const sorted_words<W>& sorted) {
    const auto encoded = [&](std::uint64_t i) { return order_.encode(keys[sorted.position(i)]); };
    const auto tied = [&](std::uint64_t i) {
      return static_cast<W>(sorted.words[i] ^ sorted.words[i - 1]) >> sorted.position_bits == 0;
    };
    std::uint64_t steps_left = num_keys / 16;
    K last = encoded(0);
    for (std::uint64_t i = 1; i < num_keys; ++i) {
      const K key = encoded(i);
      if (key >= last) [[likely]] {  // of keys that tie most do: a branch on ties would be mispredicted
        last = key;
        continue;
      }
      for (std::uint64_t j = i; j > 0 && tied(j) && encoded(j - 1) > key; --j) {
        if (steps_left-- == 0) return false;
        std::swap(sorted.words[j - 1], sorted.words[j]);
      }
    }
    return true;
  }

  /// Records are in order but for those that tie above the bits left out.
  template <class Group>
  void sort_ties(split result, std::uint64_t num_keys, const Group& group_of_encoded) {
    const auto group_of = [&](std::uint64_t i) { return group_of_encoded(order_.encode(result.keys[i])); };
    std::uint64_t i = 0;
    while ((i += find_descent(codec_, result.keys + i, num_keys - i)) < num_keys) {
      const auto group = group_of(i);
      std::uint64_t begin = i;
      std::uint64_t end = i + 2;
      while (begin > 0 && group_of(begin - 1) == group) --begin;
      while (end < num_keys && group_of(end) == group) ++end;
      if (end - begin <= few_ties) {
        insert(result + begin, end - begin);
      } else {
        static_cast<void>(sort(result + begin, result + begin, end - begin));
      }
      i = end - 1;
    }
  }

  void insert(split records, std::uint64_t num_keys) {
    for (std::uint64_t i = 1; i < num_keys; ++i) {
      const packed_record<K, V> r = records.get(i);
      const K encoded = order_.encode(r.key);
      std::uint64_t j = i;
      for (; j > 0 && order_.encode(records.keys[j - 1]) > encoded; --j) records.put(j, records.get(j - 1));
      records.put(j, r);
    }
  }

  Order order_;
  keys::codec_of<K> codec_;
  worker_scratch& scratch_;
  bool stream_;
};

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Sorting one bucket on one thread, inside its caches: least significant digits first over the top of the bit range, as
// many digits as set the keys apart (about log2 n bits), then a look for neighbours still out of order, whose few ties
// are sorted on the bits below. Stable. The last pass, too, goes to scratch, and from there in order to the result:
// random stores to cold memory cost a read of every line, and stall. The idea of looking at no more bits than needed is
// that of hybrid radix sorts (Stehle and Jacobsen, SIGMOD 2017), here with LSD passes.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/math.hpp"
#include "device/host/class_table.hpp"
#include "device/host/dictionary_sort.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/heavy_sample.hpp"
#include "device/host/heavy_split.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/splitter_pairs.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/vector_sort.hpp"
#include "device/host/word_sort.hpp"
#include "device/streaming.hpp"
#include "keys/digit.hpp"

namespace spansort::device::host {

/// Digits of one local sort, equally wide, lowest first.
struct local_digits {
  unsigned shift = 0;  ///< of the lowest
  unsigned bits = 0;   ///< of each; the topmost may reach above the range, where all keys agree
  unsigned count = 0;
};

/// Returns which digits to sort `num_keys` keys on that differ in `bits`. Four bits more than log2 n leave a tie for
/// one key in sixteen of uniform ones; repairing those is cheaper than another pass.
[[nodiscard]] inline local_digits choose_local_digits(std::uint64_t num_keys, keys::bit_range bits) noexcept {
  constexpr unsigned widest = 10;
  constexpr unsigned spare_bits = 4;
  const unsigned wanted = std::min(bits.size(), static_cast<unsigned>(std::bit_width(num_keys)) + spare_bits);
  const unsigned narrow = num_keys <= 2048 ? 8U : widest;  // clearing counters must not outweigh few keys
  const unsigned count = std::clamp(base::ceil_div(wanted, narrow), 1U, max_local_digits);
  const unsigned width = std::min(base::ceil_div(wanted, count), widest);
  const unsigned total = width * count;
  return {bits.end > total ? std::max(bits.begin, bits.end - total) : bits.begin, width, count};
}

template <class K, class V, class Order>
class in_cache_sorter {
 public:
  using split = split_records<K, V>;
  using packed = packed_records<K, V>;
  static constexpr std::uint64_t max_keys = in_cache_keys<K, V>;

  /// `stream`: write results past the caches, for they will not be read soon.
  in_cache_sorter(const Order& order, const keys::codec_of<K>& codec, worker_scratch& scratch, bool stream)
      : order_(order),
        codec_(codec),
        stream_(stream),
        scratch_{{reinterpret_cast<packed_record<K, V>*>(scratch.records[0].get())},
                 {reinterpret_cast<packed_record<K, V>*>(scratch.records[1].get())}},
        counts_(scratch.digit_counts.get()),
        thread_(scratch) {}

  /// Whole keys alone can be sorted by their values: those that tie are equal bits.
  [[nodiscard]] static bool sorts_in_vectors(std::uint64_t num_keys, keys::bit_range bits) {
    constexpr std::uint64_t fewest_keys = 9;  // insertion takes fewer steps
    if constexpr (value_bytes_of<V> != 0 || sizeof(K) < 4) return false;
    return num_keys >= fewest_keys && bits.begin == 0 && has_vector_sort();
  }

  /// Whole keys with values, as words of key and position.
  [[nodiscard]] static bool sorts_as_words(std::uint64_t num_keys, keys::bit_range bits) {
    return word_sorter<K, V, Order>::takes(num_keys, bits);
  }

  /// Leaves the first bytes of the worker's memory for combined lines as they are.
  void keep(std::uint64_t size_bytes) { kept_bytes_ = size_bytes; }

  /// Sorts any number of keys that sorts_in_vectors() takes; `keys` and `other` are overwritten, and `result` is one of
  /// them.
  void sort_large(split keys, split other, split result, std::uint64_t num_keys) {
    if constexpr (value_bytes_of<V> == 0 && sizeof(K) >= 4) {
      vector_sort_large(codec_, keys.keys, other.keys, result.keys, num_keys, vector_scratch());
    }
  }

  /// Sorts keys that sorts_in_vectors() takes, at most max_keys of them in all, from `runs` into `result`.
  void sort_runs(std::span<const key_run<K>> runs, K* result, std::uint64_t num_keys) {
    if constexpr (value_bytes_of<V> == 0 && sizeof(K) >= 4) {
      vector_sort_runs(codec_, runs, result, num_keys, vector_scratch());
    }
  }

  /// Sorts `num_keys` <= max_keys records of `from` into `result`, which is `from` itself or does not overlap it.
  void sort(split from, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if (sorts_in_vectors(num_keys, bits)) return sort_in_vectors(from, result, num_keys);
    if constexpr (value_bytes_of<V> != 0 && sizeof(K) >= 4) {
      if (bits.begin == 0 && may_have_heavy(from.keys, num_keys) &&
          sort_around(sample_frequent(from.keys, num_keys), from, result, num_keys, bits))
        return;
    }
    sort_light(from, result, num_keys, bits);
  }

  /// Does the same to records of which `frequent` keys are many. Returns false, with nothing written, where these are
  /// not worth to be set apart. Their values wait in memory for combined lines, which nobody uses meanwhile.
  [[nodiscard]] bool sort_around(const frequent_keys<K>& frequent, split from, split result, std::uint64_t num_keys,
                                 keys::bit_range bits) {
    auto* const spare = reinterpret_cast<V*>(thread_.combining.get() + kept_bytes_);
    const std::uint64_t num_spare = (combining_bytes - kept_bytes_) / sizeof(V);
    return heavy_splitter<K, V, Order>(order_, codec_, spare, num_spare)
        .sort(from, result, num_keys, frequent,
              [&](split light, split to, std::uint64_t num_light, std::uint64_t num_used) {
                const std::uint64_t kept_before = kept_bytes_;
                kept_bytes_ += base::round_up(num_used * sizeof(V), std::uint64_t{64});
                kept_bytes_ = std::min(kept_bytes_, combining_bytes);
                if (is_worth_another_look(num_keys, num_light)) {
                  sort(light, to, num_light, bits);
                } else {
                  sort_light(light, to, num_light, bits);
                }
                kept_bytes_ = kept_before;
              });
  }

  /// Does the same to records without frequent keys.
  void sort_light(split from, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (value_bytes_of<V> != 0 && sizeof(K) >= 4) {
      if (bits.begin == 0 && num_keys >= class_table<K, V, Order>::fewest_keys) {
        auto* const spare = reinterpret_cast<V*>(thread_.records[0].get());
        if (class_table<K, V, Order>(order_).sort(from, result, num_keys, spare)) return;
        if (sort_by_dictionary(from, result, num_keys, bits)) return;
      }
    }
    sort_different(from, result, num_keys, bits);
  }

 private:
  static constexpr std::uint64_t insertion_keys = 32;

  /// Values of the keys that repeat wait in memory for combined lines.
  [[nodiscard, gnu::noinline]] bool sort_by_dictionary(split from, split result, std::uint64_t num_keys,
                                                       keys::bit_range bits) {
    auto* const spare = reinterpret_cast<V*>(thread_.combining.get() + kept_bytes_);
    const std::uint64_t num_spare = (combining_bytes - kept_bytes_) / sizeof(V);
    return dictionary_sorter<K, V, Order>(order_, codec_, thread_, spare, num_spare)
        .sort(from, result, num_keys,
              [&](split light, split to, std::uint64_t num_light) { sort_different(light, to, num_light, bits); });
  }

  [[nodiscard]] bool sort_words(split from, split result, std::uint64_t num_keys) {
    word_sorter<K, V, Order> words(order_, codec_, thread_, stream_);
    if constexpr (splitter_sorter::has_widths<K, V>) {
      if (splitter_sorter::takes(num_keys)) {
        if (words.sort_short(from, result, num_keys)) return true;
        splitter_sorter(codec_, thread_).sort(from, result, num_keys);
        return true;
      }
    }
    return words.sort(from, result, num_keys);
  }

  /// Sorts records without a look for keys that repeat.
  void sort_different(split from, split result, std::uint64_t num_keys, keys::bit_range bits) {
    if constexpr (value_bytes_of<V> != 0 && sizeof(K) >= 4) {
      if (sorts_as_words(num_keys, bits) && sort_words(from, result, num_keys)) return;
    }
    if (num_keys <= insertion_keys) return insertion_sort(from, result, num_keys, bits.begin);
    const K differing = differing_bits(codec_, from.keys, num_keys);
    const unsigned end = std::min(bits.end, static_cast<unsigned>(std::bit_width(differing)));
    if (end <= bits.begin) return copy(from, result, num_keys);
    const unsigned begin = std::max(bits.begin, static_cast<unsigned>(std::countr_zero(differing)));
    const local_digits digits = choose_local_digits(num_keys, {begin, end});
    const packed sorted = sort_digits(from, num_keys, digits);
    const bool leaves_ties = digits.shift > begin && !sort_small_ties(sorted, num_keys, {begin, digits.shift});
    write_result(sorted, result, num_keys);
    if (leaves_ties) sort_large_ties(result, num_keys, {begin, digits.shift});
  }

  void sort_in_vectors(split from, split result, std::uint64_t num_keys) {
    if constexpr (value_bytes_of<V> == 0 && sizeof(K) >= 4) {
      vector_sort(codec_, from.keys, result.keys, num_keys, vector_scratch());
    }
  }

  [[nodiscard]] vector_sort_scratch<K> vector_scratch() const { return vector_scratch_in<K>(thread_); }

  static void copy(split from, split result, std::uint64_t num_keys) {
    if (from.keys == result.keys) return;
    std::memcpy(result.keys, from.keys, num_keys * sizeof(K));
    if constexpr (value_bytes_of<V> != 0) std::memcpy(result.values, from.values, num_keys * sizeof(V));
  }

  /// Sorts in registers and on the stack. Encoded keys lie beside the records, so that folding orders encode once.
  void insertion_sort(split from, split result, std::uint64_t num_keys, unsigned shift) {
    K encoded[insertion_keys];
    packed_record<K, V> sorted[insertion_keys];
    for (std::uint64_t i = 0; i < num_keys; ++i) {
      const packed_record<K, V> r = from.get(i);
      const K encoded_key = static_cast<K>(order_.encode(r.key) >> shift);
      std::uint64_t j = i;
      for (; j > 0 && encoded[j - 1] > encoded_key; --j) {
        encoded[j] = encoded[j - 1];
        sorted[j] = sorted[j - 1];
      }
      encoded[j] = encoded_key;
      sorted[j] = r;
    }
    for (std::uint64_t i = 0; i < num_keys; ++i) result.put(i, sorted[i]);
  }

  /// LSD passes from `from` through the scratch; returns where in it the sorted records lie, moved keys.
  packed sort_digits(split from, std::uint64_t num_keys, local_digits digits) {
    switch (digits.count) {
      case 1: count_passes<1>(from.keys, num_keys, digits); break;
      case 2: count_passes<2>(from.keys, num_keys, digits); break;
      case 3: count_passes<3>(from.keys, num_keys, digits); break;
      default: count_passes<4>(from.keys, num_keys, digits); break;
    }
    scatter<true>(from, scratch_[0], num_keys, digits, 0);
    for (unsigned pass = 1; pass < digits.count; ++pass) {
      scatter<false>(scratch_[(pass - 1) & 1], scratch_[pass & 1], num_keys, digits, pass);
    }
    return scratch_[(digits.count - 1) & 1];
  }

  /// Counts all digits in one read and turns the counts into first positions.
  template <unsigned num_digits>
  void count_passes(const K* __restrict keys, std::uint64_t num_keys, local_digits digits) {
    const std::uint64_t num_buckets = std::uint64_t{1} << digits.bits;
    const K mask = static_cast<K>(num_buckets - 1);
    std::uint32_t* __restrict counts = counts_;
    const Order order = order_;  // stays in registers: no store can have changed it
    std::memset(counts, 0, num_buckets * num_digits * sizeof(std::uint32_t));
    const auto add = [&](K encoded_key) {
      const K shifted = static_cast<K>(encoded_key >> digits.shift);
      for (unsigned p = 0; p < num_digits; ++p) {
        ++counts[p * num_buckets + (digit_of(shifted, p * digits.bits) & mask)];
      }
    };
    std::uint64_t i = 0;
    for (; i + 4 <= num_keys; i += 4) {
      K encoded[4];
      for (unsigned j = 0; j < 4; ++j) encoded[j] = order.encode(keys[i + j]);
      for (unsigned j = 0; j < 4; ++j) add(encoded[j]);
    }
    for (; i < num_keys; ++i) add(order.encode(keys[i]));
    for (unsigned p = 0; p < num_digits; ++p) {
      std::uint32_t position = 0;
      for (std::uint64_t b = 0; b < num_buckets; ++b) {
        const std::uint32_t count = counts[p * num_buckets + b];
        counts[p * num_buckets + b] = position;
        position += count;
      }
    }
  }

  /// A shift that may reach the width of K, where nothing is left.
  [[nodiscard]] static K digit_of(K x, unsigned shift) noexcept {
    return shift < sizeof(K) * 8 ? static_cast<K>(x >> shift) : K{0};
  }

  /// One LSD pass. The eightfold loop keeps loads ahead of the stores: 2.5 against 4.3 ns for count and two passes over
  /// 2^16 u32 (AMD Zen 3, g++ 12).
  template <bool first, class Source>
  void scatter(Source source, packed destination, std::uint64_t num_keys, local_digits digits, unsigned pass) {
    std::uint32_t* __restrict positions = counts_ + (std::uint64_t{pass} << digits.bits);
    const unsigned shift = digits.shift + pass * digits.bits;
    const K mask = static_cast<K>((std::uint64_t{1} << digits.bits) - 1);
    const Order order = order_;  // stays in registers: no store can have changed it
    const auto move = [&](std::uint64_t i, unsigned n) __attribute__((always_inline)) {
      packed_record<K, V> moved[8];
      std::size_t digit[8];
      for (unsigned j = 0; j < n; ++j) {
        moved[j] = source.get(i + j);
        if constexpr (first) moved[j].key = order.load(moved[j].key);
        digit[j] = digit_of(order.encode_moved(moved[j].key), shift) & mask;
      }
      for (unsigned j = 0; j < n; ++j) destination.put(positions[digit[j]]++, moved[j]);
    };
    std::uint64_t i = 0;
    for (; i + 8 <= num_keys; i += 8) move(i, 8);
    for (; i < num_keys; ++i) move(i, 1);
  }

  /// Records that agree above the bits sorted on.
  struct tie_group {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  /// Returns the smallest i, from `i` on, whose key is encoded higher than its right neighbour; num_keys when none is.
  [[nodiscard]] std::uint64_t find_packed_descent(packed data, std::uint64_t i, std::uint64_t num_keys) const {
    if constexpr (value_bytes_of<V> == 0) {
      // Moved keys lie side by side and, without values, are encoded already.
      return i + find_descent(keys::codec_of<K>{}, &data.data[i].key, num_keys - i);
    } else {
      K left = order_.encode_moved(data.get(i).key);
      for (; i + 1 < num_keys; ++i) {
        const K right = order_.encode_moved(data.get(i + 1).key);
        if (left > right) return i;
        left = right;
      }
      return num_keys;
    }
  }

  /// Returns the group that record `i` is of; group_of(j) tells those of the others.
  template <class GroupOf>
  [[nodiscard]] static tie_group group_around(std::uint64_t i, std::uint64_t num_keys, const GroupOf& group_of) {
    const K group = group_of(i);
    tie_group found{i, i + 2};
    while (found.begin > 0 && group_of(found.begin - 1) == group) --found.begin;
    while (found.end < num_keys && group_of(found.end) == group) ++found.end;
    return found;
  }

  /// Records are in order but for ties above `low.end`: finds neighbours out of order and sorts the few around them.
  /// Returns false where groups too large for that are left.
  [[nodiscard]] bool sort_small_ties(packed data, std::uint64_t num_keys, keys::bit_range low) {
    bool are_all = true;
    std::uint64_t i = 0;
    while ((i = find_packed_descent(data, i, num_keys)) < num_keys) {
      const tie_group found = group_around(i, num_keys, [&](std::uint64_t j) {
        return static_cast<K>(order_.encode_moved(data.get(j).key) >> low.end);
      });
      if (found.end - found.begin <= insertion_keys) {
        insertion_sort_packed(data, found, low.begin);
      } else {
        are_all = false;
      }
      i = found.end - 1;
    }
    return are_all;
  }

  /// Finds the groups that sort_small_ties() has left, and sorts them. They are looked for again, for a list of them
  /// would take memory while results are being written.
  void sort_large_ties(split data, std::uint64_t num_keys, keys::bit_range low) {
    for (std::uint64_t i = 0; i + 1 < num_keys;) {
      if (order_.encode(data.keys[i]) <= order_.encode(data.keys[i + 1])) {
        ++i;
        continue;
      }
      const tie_group found = group_around(
          i, num_keys, [&](std::uint64_t j) { return static_cast<K>(order_.encode(data.keys[j]) >> low.end); });
      const std::uint64_t count = found.end - found.begin;
      if (count > insertion_keys) sort(data + found.begin, data + found.begin, count, low);
      i = found.end - 1;
    }
  }

  void insertion_sort_packed(packed data, tie_group group, unsigned shift) {
    for (std::uint64_t i = group.begin + 1; i < group.end; ++i) {
      const packed_record<K, V> r = data.get(i);
      const K encoded_key = static_cast<K>(order_.encode_moved(r.key) >> shift);
      std::uint64_t j = i;
      for (; j > group.begin && static_cast<K>(order_.encode_moved(data.get(j - 1).key) >> shift) > encoded_key; --j) {
        data.put(j, data.get(j - 1));
      }
      data.put(j, r);
    }
  }

  /// Writes moved keys from scratch as the caller's bits into the result, sequentially, so that the result's lines are
  /// written whole.
  void write_result(packed sorted, split result, std::uint64_t num_keys) {
    constexpr std::uint64_t block_keys = 256;
    K block[block_keys];
    const Order order = order_;
    for (std::uint64_t i = 0; i < num_keys; i += block_keys) {
      const std::uint64_t n = std::min(block_keys, num_keys - i);
      for (std::uint64_t j = 0; j < n; ++j) block[j] = order.store(sorted.data[i + j].key);
      write_sequence(result.keys + i, block, n * sizeof(K), stream_);
      if constexpr (value_bytes_of<V> != 0) {
        V values[block_keys];
        for (std::uint64_t j = 0; j < n; ++j) values[j] = sorted.data[i + j].value;
        write_sequence(result.values + i, values, n * sizeof(V), stream_);
      }
    }
    if (stream_) finish_streaming();
  }

  Order order_;
  keys::codec_of<K> codec_;
  bool stream_;
  packed scratch_[2];
  std::uint32_t* counts_;
  worker_scratch& thread_;
  std::uint64_t kept_bytes_ = 0;  ///< of `combining`
};

}  // namespace spansort::device::host

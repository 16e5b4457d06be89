// SPDX-License-Identifier: Apache-2.0
// Pairs with frequent keys on one thread. One read sets the values of each of these keys aside, in input order, and
// leaves the other pairs; nothing is counted before, so that each array has room for all of them. The others are sorted
// into the end of the result, and the runs of the frequent keys are written from its beginning on.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>

#include "device/host/few_values.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/heavy_sample.hpp"
#include "device/host/records.hpp"
#include "device/host/value_classes.hpp"

namespace spansort::device::host {

/// Returns whether the others that a split left may have frequent keys of their own. Where the sample was a chance, or
/// keys were made to deceive it, each look would set few keys apart.
[[nodiscard]] constexpr bool is_worth_another_look(std::uint64_t num_keys, std::uint64_t num_light) noexcept {
  return 4 * (num_keys - num_light) >= num_keys;
}

template <class K, class V, class Order>
class heavy_splitter {
 public:
  using split = split_records<K, V>;

  /// `spare` has room for `num_spare` values.
  heavy_splitter(const Order& order, const keys::codec_of<K>& codec, V* spare, std::uint64_t num_spare)
      : order_(order), codec_(codec), spare_(spare), num_spare_(num_spare) {}

  /// Sorts `from` into `result`, which is `from` itself or does not overlap it. A call of sort_light(from, to, n, used)
  /// sorts the n others into `to`, which is `from` itself or does not overlap it, and leaves the first `used` of the
  /// spare values as they are.
  /// Returns false, with nothing written, where the frequent keys are not worth it or find no room.
  template <class SortLight>
  [[nodiscard]] bool sort(split from, split result, std::uint64_t num_keys, const frequent_keys<K>& frequent,
                          const SortLight& sort_light) {
    if (!take(frequent, from.keys, num_keys)) return false;
    const std::uint64_t stride = stride_of(num_keys);
    if constexpr (sizeof(K) == value_bytes_of<V>) {
      if (count_ == 2 && frequent.are_all() && from.keys == result.keys) {
        const std::uint64_t num_light = split_two(result, num_keys, stride);
        if (num_light != 0) sort_rest(result, num_keys, num_light, stride, sort_light);
        return true;
      }
    }
    class_places<V> places;
    for (unsigned h = 0; h < count_; ++h) {
      // The least key's values are mostly where they belong. Those of no frequent key lie before the others'.
      values_[h] = h == 0 ? result.values : spare_ + h * stride;
      places.next[h] = values_[h];
      places.end[h] = values_[h] + num_keys;
    }
    const split light{result.keys, spare_};
    split_pairs(from, num_keys, std::span<const K>(keys_.data(), count_), places, light, num_keys, frequent.are_all());
    std::uint64_t num_light = num_keys;
    for (unsigned h = 0; h < count_; ++h) {
      counts_[h] = static_cast<std::uint64_t>(places.next[h] - values_[h]);
      num_light -= counts_[h];
    }
    sort_rest(result, num_keys, num_light, stride, sort_light);
    return true;
  }

 private:
  /// Splits pairs of two keys where they are, and writes them if these are all. Values of the greater wait where keys
  /// have been read, so that no other memory is written: 2^12 u64(u64) took one thread of a Granite Rapids 2.1 us with
  /// memory beside, and now 1.9. Where there turn out to be others, their keys are moved to the begin of the
  /// result's, and all values that are not the lesser key's aside. Returns how many others there are.
  std::uint64_t split_two(split records, std::uint64_t num_keys, std::uint64_t stride) {
    V* const greater = reinterpret_cast<V*>(records.keys);
    class_places<V> places;
    places.next = {records.values, greater};
    places.end = {records.values + num_keys, greater + num_keys};
    const split light{reinterpret_cast<K*>(spare_ + stride), spare_};
    split_pairs(records, num_keys, std::span<const K>(keys_.data(), 2), places, light, num_keys, true);
    counts_[0] = static_cast<std::uint64_t>(places.next[0] - records.values);
    counts_[1] = static_cast<std::uint64_t>(places.next[1] - greater);
    const std::uint64_t num_light = num_keys - counts_[0] - counts_[1];
    values_ = {records.values, num_light == 0 ? records.values + counts_[0] : spare_ + stride + num_light};
    std::memcpy(static_cast<void*>(values_[1]), greater, counts_[1] * sizeof(V));
    if (num_light == 0) {
      fill_keys(records.keys, counts_[0], keys_[0], false);
      fill_keys(records.keys + counts_[0], counts_[1], keys_[1], false);
    } else {
      std::memcpy(records.keys, light.keys, num_light * sizeof(K));
    }
    return num_light;
  }

  /// Sorts the others, whose keys are the first of the result's and whose values are the first ones aside, and writes
  /// all.
  template <class SortLight>
  void sort_rest(split result, std::uint64_t num_keys, std::uint64_t num_light, std::uint64_t stride,
                 const SortLight& sort_light) {
    const split sorted = result + (num_keys - num_light);
    if (num_light != 0) {
      const std::uint64_t num_used = 2 * count_ * stride > num_spare_ ? close_up(num_light) : count_ * stride;
      sort_to_end({result.keys, spare_}, sorted, num_keys, num_light, num_used, sort_light);
    }
    write_runs(sorted, result, num_light);
  }

  /// Takes the most frequent keys, as many as find room, and puts them in key order.
  bool take(const frequent_keys<K>& frequent, const K* keys, std::uint64_t num_keys) {
    count_ = static_cast<unsigned>(std::min<std::uint64_t>(frequent.count, num_spare_ / num_keys));
    if (3 * frequent.mass(count_) < frequent.num_samples) return false;
    for (unsigned h = 0; h < count_; ++h) {
      const K key = frequent.keys[h];
      if (!is_alone(codec_, key, keys, num_keys)) return false;
      unsigned at = h;
      for (; at > 0 && order_.encode(keys_[at - 1]) > order_.encode(key); --at) keys_[at] = keys_[at - 1];
      keys_[at] = key;
    }
    return true;
  }

  /// Arrays that are written in turns begin at different offsets in their pages, if there is room.
  [[nodiscard]] std::uint64_t stride_of(std::uint64_t num_keys) const {
    constexpr std::uint64_t offset = 17 * 64 / sizeof(V);
    return count_ * (num_keys + offset) <= num_spare_ ? num_keys + offset : num_keys;
  }

  /// Leaves room for frequent keys of the others: moves values of these keys down to those of the others. Returns how
  /// many all of them are.
  std::uint64_t close_up(std::uint64_t num_light) {
    V* next = spare_ + num_light;
    for (unsigned h = 1; h < count_; ++h) {
      std::memmove(static_cast<void*>(next), values_[h], counts_[h] * sizeof(V));
      values_[h] = next;
      next += counts_[h];
    }
    aside_ = next;
    return static_cast<std::uint64_t>(next - spare_);
  }

  template <class SortLight>
  void sort_to_end(split light, split sorted, std::uint64_t num_keys, std::uint64_t num_light, std::uint64_t num_used,
                   const SortLight& sort_light) {
    if (2 * num_light <= num_keys) return sort_light(light, sorted, num_light, num_used);
    // A sample may be made a fool of, and their places overlap.
    std::memmove(sorted.keys, light.keys, num_light * sizeof(K));
    std::memcpy(static_cast<void*>(sorted.values), light.values, num_light * sizeof(V));
    sort_light(sorted, sorted, num_light, num_used);
  }

  /// Writes the result from its beginning on. What is still to be read lies behind what is written: the sorted others
  /// are the end of the result.
  void write_runs(split sorted, split result, std::uint64_t num_light) {
    std::uint64_t taken = 0;
    for (unsigned h = 0; h < count_; ++h) {
      const K* const found = std::lower_bound(sorted.keys + taken, sorted.keys + num_light, order_.encode(keys_[h]),
                                              [&](K key, K encoded) { return order_.encode(key) < encoded; });
      const std::uint64_t lower = static_cast<std::uint64_t>(found - sorted.keys) - taken;
      if (lower != 0) {
        if (h == 0) {
          std::memcpy(static_cast<void*>(aside_), values_[0], counts_[0] * sizeof(V));
          values_[0] = aside_;
        }
        std::memmove(result.keys, sorted.keys + taken, lower * sizeof(K));
        std::memmove(static_cast<void*>(result.values), sorted.values + taken, lower * sizeof(V));
        taken += lower;
        result = result + lower;
      }
      if (values_[h] != result.values) {
        std::memcpy(static_cast<void*>(result.values), values_[h], counts_[h] * sizeof(V));
      }
      fill_keys(result.keys, counts_[h], keys_[h], false);
      result = result + counts_[h];
    }
  }

  Order order_;
  keys::codec_of<K> codec_;
  V* spare_;
  V* aside_ = spare_;  ///< where the least key's values wait while lower keys are written
  std::uint64_t num_spare_;
  unsigned count_ = 0;
  std::array<K, most_heavy_pairs> keys_ = {};  ///< in key order
  std::array<V*, most_heavy_pairs> values_ = {};
  std::array<std::uint64_t, most_heavy_pairs> counts_ = {};
};

}  // namespace spansort::device::host

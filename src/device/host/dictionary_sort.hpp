// SPDX-License-Identifier: Apache-2.0
// Pairs whose keys are mostly those of a dictionary (key_dictionary.hpp) on one thread. One read of the keys tells the
// class of each, one of the values moves them to memory beside, by class; the other pairs are sorted into the end of
// the result, which is then written from its beginning on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/host/dictionary_kernels.hpp"
#include "device/host/key_dictionary.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/splitter_pairs.hpp"
#include "device/host/vector_sort.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class dictionary_sorter {
 public:
  using split = split_records<K, V>;

  /// `spare` has room for `num_spare` values; nobody else uses it and the cursors of the scratch.
  dictionary_sorter(const Order& order, const keys::codec_of<K>& codec, worker_scratch& scratch, V* spare,
                    std::uint64_t num_spare)
      : order_(order), codec_(codec), scratch_(scratch), spare_(spare), num_spare_(num_spare) {}

  /// Sorts `from` into `result`, which is `from` itself or does not overlap it. A call of sort_light(from, to, n) sorts
  /// the n others into `to`, which is `from` itself or does not overlap it, and uses the rest of the scratch. Returns
  /// false, with nothing written, where a sample says that the keys are too many.
  template <class SortLight>
  [[nodiscard]] bool sort(split from, split result, std::uint64_t num_keys, const SortLight& sort_light) {
    if (num_keys < dictionary::fewest_keys || num_keys > std::min(num_spare_, most_keys) || !has_vector_sort()) {
      return false;
    }
    if (!choose(from.keys, num_keys)) return false;
    memory& of = room();
    const unsigned num_classes = of.keys.num_classes();
    auto* const classes = reinterpret_cast<std::uint16_t*>(scratch_.words.get());
    of.keys.find(from.keys, num_keys, classes);
    const std::uint64_t num_light = of.places.count(classes, num_keys, num_classes);
    static_cast<void>(gather_unclassified(classes, from.keys, num_keys, result.keys));
    of.places.add_to(dictionary::other, static_cast<std::uint32_t>(num_keys - num_light));
    place_classified(classes, from.values, num_keys, of.places, spare_);
    const split sorted = result + (num_keys - num_light);
    if (num_light != 0)
      sort_to_end({result.keys, spare_ + (num_keys - num_light)}, sorted, num_keys, num_light, sort_light);
    write_runs(sorted, result, num_light);
    return true;
  }

 private:
  using dictionary = key_dictionary<K>;
  static constexpr std::uint64_t most_keys = max_words * sizeof(std::uint64_t) / sizeof(std::uint16_t);

  struct memory {
    dictionary keys;
    class_halves places;
  };
  static_assert(sizeof(memory) <= (std::uint64_t{8} << max_digit_bits) * 3);

  [[nodiscard]] memory& room() const noexcept { return *reinterpret_cast<memory*>(scratch_.cursors.get()); }

  bool choose(const K* keys, std::uint64_t num_keys) {
    const vector_sort_scratch<K> scratch = vector_scratch_in<K>(scratch_);
    // Splitters sort others in so little time that a dictionary has to leave few of them: 2^16 u32(u32) of AND of four
    // words took 3.9 ns a pair where it left a quarter, and 3.4 by splitters alone.
    const bool has_splitters = splitter_sorter::has_widths<K, V> && splitter_sorter::takes(num_keys);
    const std::uint64_t least_part = has_splitters ? dictionary::tenth : dictionary::half;
    if (!dictionary::look(order_, keys, num_keys, scratch, 1, least_part).is_worth_a_sample) return false;
    K* const sample = reinterpret_cast<K*>(scratch_.words.get());
    const std::uint64_t num_sampled = dictionary::num_samples(num_keys);
    dictionary::sample_into(sample, num_sampled, order_, keys, num_keys);
    vector_sort(keys::codec_of<K>(), sample, sample, num_sampled, scratch);
    return room().keys.take(codec_, sample, num_sampled, num_keys, 1, least_part);
  }

  template <class SortLight>
  static void sort_to_end(split light, split sorted, std::uint64_t num_keys, std::uint64_t num_light,
                          const SortLight& sort_light) {
    if (2 * num_light <= num_keys) return sort_light(light, sorted, num_light);
    // A sample may be made a fool of, and their places overlap.
    std::memmove(sorted.keys, light.keys, num_light * sizeof(K));
    std::memcpy(static_cast<void*>(sorted.values), light.values, num_light * sizeof(V));
    sort_light(sorted, sorted, num_light);
  }

  /// Writes the result from its beginning on. What is still to be read lies behind what is written: the sorted others
  /// are the end of the result.
  void write_runs(split sorted, split result, std::uint64_t num_light) const {
    const memory& of = room();
    const V* values = spare_;  // of the classes that are still to be written
    std::uint64_t taken = 0;
    std::uint64_t waiting = 0;  // values of classes whose keys have been written: neighbours, here and there
    const auto write_values = [&] {
      std::memcpy(static_cast<void*>(result.values), values, waiting * sizeof(V));
      values += waiting;
      result = result + waiting;
      waiting = 0;
    };
    for (unsigned c = 1; c < of.keys.num_classes(); ++c) {
      const K key = of.keys.key_of(c);
      const std::uint64_t lower =
          count_lower(order_, sorted.keys + taken, num_light - taken, static_cast<K>(order_.encode(key)));
      if (lower != 0) {
        write_values();
        std::memmove(result.keys, sorted.keys + taken, lower * sizeof(K));
        std::memmove(static_cast<void*>(result.values), sorted.values + taken, lower * sizeof(V));
        taken += lower;
        result = result + lower;
      }
      const std::uint32_t count = of.places.count_of_moved(c);
      std::fill_n(result.keys + waiting, count, key);
      waiting += count;
    }
    write_values();
  }

  Order order_;
  keys::codec_of<K> codec_;
  worker_scratch& scratch_;
  V* spare_;
  std::uint64_t num_spare_;
};

}  // namespace spansort::device::host

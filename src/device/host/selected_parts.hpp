// SPDX-License-Identifier: Apache-2.0
// Pairs of which one thread and more sort a part of the sorted order each, or some parts one after the other. A thread
// reads all keys, block by block, takes out the pairs of its parts (select_pairs.hpp), which a sample bounds, and then
// sorts each part into its place. Of equal keys the earlier ones may be of one part and the later ones of the next, so
// that parts are as large as the sample says, whatever keys repeat. Nobody counts or waits but between the two steps.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/assert.hpp"
#include "base/math.hpp"
#include "device/host/heavy_pairs.hpp"
#include "device/host/heavy_sample.hpp"
#include "device/host/key_classes.hpp"
#include "device/host/key_dictionary.hpp"
#include "device/host/packed_buckets.hpp"
#include "device/host/records.hpp"
#include "device/host/sampled_repeats.hpp"
#include "device/host/scratch.hpp"
#include "device/host/select_pairs.hpp"
#include "device/host/shared_pairs.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/splitter_pairs.hpp"
#include "device/host/vector_sort.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// The most parts. With more than 16 they are sorted no faster: 2^20 pairs in 20 took up to a quarter more time.
inline constexpr std::uint64_t most_selected_parts = 16;

/// How an input is cut into parts, and the memory for what has been taken out.
struct part_plan {
  std::uint64_t num_parts = 0;    ///< 0: it is sorted some other way
  std::uint64_t num_threads = 0;  ///< that sort as many parts each
  std::uint64_t room_of_all = 0;  ///< for the pairs of all parts together, however many these are

  /// Returns for how many pairs a part has room; behind these it has some for the spare ones.
  [[nodiscard]] std::uint64_t room() const noexcept { return room_of_all / num_parts; }
  /// Returns for how many pairs there is memory, in as many parts as there may be.
  [[nodiscard]] std::uint64_t num_spare() const noexcept {
    return num_parts == 0 ? 0 : room_of_all + most_selected_parts * spare_selected_pairs;
  }
};

/// Returns whether threads take parts out of so many pairs in less time than it takes to count and move them. One
/// thread of a Granite Rapids takes 8.0 ns a pair for 2^20 u64(u64) in parts and 11.2 by levels, two take 4.6 and 6.1;
/// for 2^21 one takes 4 % less to 27 % more in parts, for what is taken out does not stay in the caches. Lines that
/// another core had written came at 4 GB/s to each of 16 cores of a Xeon, while levels get faster with every thread:
/// 2^16 u32(u32) took 2.6 ns a pair by levels and 2.4 in parts, 2^17 took 1.8 and 2.2. Argsorts by levels take longer:
/// 2^17 f64 took 3.8 and 2.0. On four of these cores 2^18 u32(u32) took 3.0 and 2.3, 2^18 u64(u64) 4.0 and 3.9.
[[nodiscard]] constexpr bool are_worth_parts(std::uint64_t key_bytes, std::uint64_t value_bytes, bool are_positions,
                                             std::uint64_t num_keys, unsigned num_threads,
                                             std::uint64_t parts_of_thread) noexcept {
  constexpr unsigned many_threads = 8;
  if (num_threads < many_pair_threads) return num_keys * (key_bytes + value_bytes) <= std::uint64_t{1} << 24;
  const std::uint64_t read_bytes = parts_of_thread * num_keys * (key_bytes + (are_positions ? 0 : value_bytes));
  if (num_threads < many_threads) return read_bytes <= std::uint64_t{1} << 21;
  return read_bytes <= std::uint64_t{1} << (are_positions ? 20 : 19);
}

/// Returns the plan for pairs of these widths, or for keys and their positions.
[[nodiscard]] inline part_plan plan_parts(std::uint64_t key_bytes, std::uint64_t value_bytes, bool are_positions,
                                          std::uint64_t num_keys, unsigned num_threads) {
  constexpr std::uint64_t fewest_of_thread = std::uint64_t{1} << 11;
  if (key_bytes < 4 || (value_bytes != 4 && value_bytes != 8) || !has_vector_sort()) return {};
  if (num_keys <= most_pairs_alone(num_threads)) return {};
  const std::uint64_t most_keys = std::min(max_local_bytes / (key_bytes + value_bytes), max_words);
  part_plan plan;
  // A part that is larger by more than a quarter than their mean says that the sample was misleading. Few keys have
  // smaller samples, which take their time, and room for half as many more.
  plan.room_of_all = num_keys + num_keys / (num_keys <= most_small_pairs ? 2 : 4);
  plan.num_threads = std::min({std::uint64_t{num_threads}, most_selected_parts, num_keys / fewest_of_thread});
  plan.num_parts = base::round_up(base::ceil_div(plan.room_of_all, most_keys), plan.num_threads);
  if (plan.num_parts > most_selected_parts) return {};
  const std::uint64_t parts_of_thread = plan.num_parts / plan.num_threads;
  const bool are_worth_it =
      are_worth_parts(key_bytes, value_bytes, are_positions, num_keys, num_threads, parts_of_thread);
  return are_worth_it ? plan : part_plan();
}

template <class K, class V>
class part_sorter {
 public:
  using split = split_records<K, V>;

  part_sorter(workers& team, const keys::key_codec& codec, const part_plan& plan)
      : team_(team), codec_(codec), of_width_(codec.of<K>()), plan_(plan) {}

  /// Sorts `from` into `result`, which may be the same; null values stand for positions. `spare` has room as the plan
  /// says. Returns false, with nothing written to the result, where a few keys are all or much, which one thread moves
  /// in the time that another takes to come, and where the sample was misleading.
  [[nodiscard]] bool sort(split from, split result, split spare, std::uint64_t num_keys) {
    if (sample_frequent(from.keys, num_keys).are_heavy() || !find_bounds(from, num_keys)) return false;
    std::array<std::uint64_t, most_selected_parts> counts = {};
    const std::uint64_t of_thread = plan_.num_parts / plan_.num_threads;
    team_.for_each(plan_.num_threads, [&](std::uint64_t thread, worker_scratch& scratch) {
      const std::uint64_t first = thread * of_thread;
      std::array<std::uint64_t, most_selected_parts> own = {};  // no cache line of counts is shared with another thread
      select_from_blocks(from, num_keys, {first, first + of_thread, spare, own.data(), scratch});
      std::copy_n(own.begin() + first, of_thread, counts.begin() + first);
    });
    std::uint64_t num_selected = 0;
    for (const std::uint64_t count : counts) {
      if (count > plan_.room()) return false;
      num_selected += count;
    }
    SPANSORT_ASSERT(num_selected == num_keys);
    team_.for_each(plan_.num_parts, [&](std::uint64_t p, worker_scratch& scratch) {
      split to = result;
      for (std::uint64_t before = 0; before < p; ++before) to = to + counts[before];
      const split part = part_of(spare, p);
      sort_small_pairs_into(codec_, {part.keys, part.values}, {to.keys, to.values}, sizeof(V), counts[p], scratch);
    });
    return true;
  }

 private:
  /// Values that find room where a dictionary keeps them.
  static constexpr std::uint64_t most_dictionary_values = combining_bytes / sizeof(V);
  static constexpr std::uint64_t block_pairs = (std::uint64_t{1} << 15) / (sizeof(K) + sizeof(V));
  /// The most parts, or groups of parts, that are taken out of the same pairs. Where all parts were taken out of the
  /// whole block, 2^20 u32(u32) and u64(u64) took 9 to 14 % more.
  static constexpr std::uint64_t most_at_once = 4;
  static_assert(most_selected_parts <= most_at_once * most_at_once);

  /// The first pair of a part: no other is lower, and no equal one stands before it.
  struct part_begin {
    K key = 0;  ///< encoded
    std::uint64_t position = 0;
  };

  [[nodiscard]] split part_of(split spare, std::uint64_t p) const noexcept {
    return spare + p * (plan_.room() + spare_selected_pairs);
  }

  /// Returns false where the sample has a few keys only, or those of a dictionary, where a partition tile by tile takes
  /// less time, and where the only thread sorts all as words in less time, as it does unless keys repeat.
  [[nodiscard]] bool find_bounds(split from, std::uint64_t num_keys) {
    bool are_found = false;
    team_.for_each(1,
                   [&](std::uint64_t, worker_scratch& scratch) { are_found = find_bounds(from, num_keys, scratch); });
    return are_found;
  }

  [[nodiscard]] bool find_bounds(split from, std::uint64_t num_keys, worker_scratch& scratch) {
    constexpr std::uint64_t of_part = 256;  // a part has room for four standard deviations more than its share
    constexpr std::uint64_t of_sample = 16;
    constexpr std::uint64_t most_samples = most_selected_parts * of_part;
    constexpr std::uint64_t few_keys = 32;
    static_assert(2 * most_samples <= max_words);
    const K* const keys = from.keys;
    if (has_few_keys(keys, num_keys, scratch)) return false;
    // There may be twice as many parts in the end (make_room_for_dictionaries()).
    const std::uint64_t num_parts = plan_.room() > most_dictionary_values ? 2 * plan_.num_parts : plan_.num_parts;
    const std::uint64_t wanted = std::clamp(num_parts, std::uint64_t{4}, most_selected_parts) * of_part;
    const std::uint64_t num_samples = std::min(num_keys / of_sample, wanted);
    const key_sampler<K> sampled(keys, num_keys, num_samples);
    K* const sample = reinterpret_cast<K*>(scratch.words.get());
    K* const sorted = sample + most_samples;
    for (std::uint64_t i = 0; i < num_samples; ++i) sample[i] = of_width_.encode(sampled(i));
    vector_sort(keys::codec_of<K>(), sample, sorted, num_samples, vector_scratch_in<K>(scratch));
    const sampled_repeats repeats = count_repeats(sorted, num_samples);
    if (repeats.different <= few_keys || suits_a_dictionary(repeats, num_keys)) return false;
    if (from.values != nullptr && suits_tiles(sample, sorted, num_samples, num_keys)) return false;
    if (plan_.num_threads == 1 && num_keys <= max_words && repeats.different > num_samples / 8 * 7) return false;
    if (repeats.different <= num_samples / 4 * 3 && !make_room_for_dictionaries()) return false;
    for (std::uint64_t p = 1; p < plan_.num_parts; ++p) {
      const K* const at = sorted + p * num_samples / plan_.num_parts;
      const K* const first = std::lower_bound(static_cast<const K*>(sorted), at, *at);
      const std::uint64_t i = find_copy(sample, num_samples, *at, static_cast<std::uint64_t>(at - first));
      begins_[p] = {*at, sampled.place_of(i)};
    }
    return true;
  }

  /// Returns whether a look at a few keys says that all of them are of some two dozen values: one thread has sorted
  /// these in the time that a whole sample and others' help take (2^14 u32(u32) of 16 values 27 us, and 38 so).
  [[nodiscard]] bool has_few_keys(const K* keys, std::uint64_t num_keys, worker_scratch& scratch) const {
    constexpr std::uint64_t num_looks = 128;
    constexpr std::uint64_t few_keys = 24;
    std::array<K, num_looks> seen;
    const key_sampler<K> sampled(keys, num_keys, num_looks);
    for (std::uint64_t i = 0; i < num_looks; ++i) seen[i] = of_width_.encode(sampled(i));
    vector_sort(keys::codec_of<K>(), seen.data(), seen.data(), num_looks, vector_scratch_in<K>(scratch));
    return count_repeats(seen.data(), num_looks).different <= few_keys;
  }

  /// Returns where that copy of a key stands in a sample before which there are `num_before` others. Copies are counted
  /// block by block, in vectors: searches key by key for sixteen parts took some 20 us.
  [[nodiscard]] static std::uint64_t find_copy(const K* sample, std::uint64_t num_samples, K key,
                                               std::uint64_t num_before) noexcept {
    constexpr std::uint64_t block_keys = 128;
    std::uint64_t begin = 0;
    for (;; begin += block_keys) {
      const std::uint64_t end = std::min(begin + block_keys, num_samples);
      std::uint64_t count = 0;
      for (std::uint64_t i = begin; i < end; ++i) count += sample[i] == key ? 1 : 0;
      if (count > num_before) break;
      num_before -= count;
    }
    std::uint64_t i = begin;
    while (sample[i] != key || num_before-- != 0) ++i;
    return i;
  }

  /// Returns whether a dictionary is likely to have nearly all keys, and the values no room where parts keep theirs: on
  /// two threads a dictionary of all 2^18 pairs of 1,000 values took 2.1 ns a pair of u64(u64), and parts of them 3.2.
  [[nodiscard]] static bool suits_a_dictionary(const sampled_repeats& repeats, std::uint64_t num_keys) {
    constexpr double most_missed = 1.0 / 16;
    return num_keys * sizeof(V) > combining_bytes &&
           repeats.missed_by(key_dictionary<K>::num_samples(num_keys)) < most_missed;
  }

  /// Returns whether a partition tile by tile (tiled_pairs.hpp) takes less time than parts do. On one thread of a
  /// Granite Rapids 2^20 u32(u32) take 6.7 ns a pair in parts and 6.2 in tiles for AND of 2 words, and as long either
  /// way for other keys that crowd; on two threads 3.7 and 3.2, for zipf 1 3.1 and 2.8. Even keys took one thread of a
  /// Zen 4 5.8 and 6.4. `sorted` is the sample in order; tiles do not take what is in order already.
  [[nodiscard]] bool suits_tiles(const K* sample, const K* sorted, std::uint64_t num_samples,
                                 std::uint64_t num_keys) const {
    constexpr std::uint64_t fewest_pairs = std::uint64_t{3} << 18;
    if constexpr (!splitter_sorter::has_widths<K, V>) return false;
    if (num_keys < fewest_pairs || !has_packed_buckets()) return false;
    if (std::is_sorted(sample, sample + num_samples)) return false;
    return plan_.num_threads > 1 || !lies_evenly<K>({sorted, num_samples});
  }

  /// Makes parts so small that the values of each find room where a dictionary keeps them (dictionary_sort.hpp), as
  /// those of 4 bytes do anyway. Returns false where these would be too many parts.
  [[nodiscard]] bool make_room_for_dictionaries() {
    while (plan_.room() > most_dictionary_values) {
      plan_.num_parts += plan_.num_threads;
      if (plan_.num_parts > most_selected_parts) return false;
    }
    return true;
  }

  /// The parts that a thread takes out, and its memory.
  struct parts_of_thread {
    std::uint64_t first = 0;
    std::uint64_t end = 0;
    split spare;
    std::uint64_t* counts = nullptr;  ///< how many pairs of each part of all have been taken out so far
    worker_scratch& scratch;
  };

  /// Pairs of a block. Where they have no values `first` is the position of the first one.
  struct pairs_of_block {
    split pairs;
    std::uint64_t count = 0;
    std::uint64_t first = 0;
  };

  /// Takes the pairs of some parts out of `from`, block by block: each stays in the nearest caches until it has been
  /// read for all of them. Counts more than there is room for where a part has too many.
  void select_from_blocks(split from, std::uint64_t num_keys, const parts_of_thread& parts) const {
    for (std::uint64_t begin = 0; begin < num_keys;) {
      std::uint64_t end = std::min(begin + block_pairs, num_keys);
      // Equal keys of a block are of one part: no part begins within it.
      for (std::uint64_t p = 1; p < plan_.num_parts; ++p) {
        if (begins_[p].position > begin) end = std::min(end, begins_[p].position);
      }
      pairs_of_block block{from, end - begin, begin};
      block.pairs.keys += begin;
      if (from.values != nullptr) block.pairs.values += begin;
      select_range(block, begin, parts.first, parts.end, parts);
      begin = end;
    }
  }

  /// Takes the pairs of the parts from `first` up to `end` out of those of a block. Where these parts are more than
  /// four, the pairs of up to four parts together are copied out of the block first, and each part out of that copy.
  void select_range(const pairs_of_block& from, std::uint64_t block_begin, std::uint64_t first, std::uint64_t end,
                    const parts_of_thread& parts) const {
    const std::uint64_t step = base::ceil_div(end - first, most_at_once);
    for (; first < end; first += step) {
      const std::uint64_t next = std::min(first + step, end);
      const key_interval<K> wanted = interval_of(first, next, block_begin);
      if (wanted.least > wanted.greatest) continue;
      if (next == first + 1) {
        std::uint64_t& count = parts.counts[first];
        if (count > plan_.room()) continue;
        count += select(from, wanted, part_of(parts.spare, first) + count, plan_.room() - count);
      } else {
        const split group = group_memory(parts.scratch);
        const std::uint64_t count = select(from, wanted, group, block_pairs);
        if (count != 0) select_range({group, count}, block_begin, first, next, parts);
      }
    }
  }

  std::uint64_t select(const pairs_of_block& from, key_interval<K> wanted, split to, std::uint64_t room) const {
    return select_pairs<K, V>(of_width_, from.pairs, from.count, from.first, wanted, to, room);
  }

  /// Returns memory for the pairs of a block. Its arrays begin at different offsets in their pages.
  [[nodiscard]] static split group_memory(worker_scratch& scratch) noexcept {
    constexpr std::uint64_t array_bytes = (block_pairs + spare_selected_pairs) * sizeof(std::uint64_t) + 17 * 64;
    static_assert(2 * array_bytes <= max_local_bytes);
    std::byte* const at = scratch.records[0].get();
    return {reinterpret_cast<K*>(at), reinterpret_cast<V*>(at + array_bytes)};
  }

  /// Returns which keys of a block are those of the parts from `first` up to `end`. Where there are none, `least` is
  /// above `greatest`. What equals the first key of a part and stands before it belongs to the part before.
  [[nodiscard]] key_interval<K> interval_of(std::uint64_t first, std::uint64_t end, std::uint64_t block_begin) const {
    constexpr key_interval<K> none{1, 0};
    key_interval<K> wanted{0, std::numeric_limits<K>::max()};
    if (first != 0) {
      const part_begin& begin = begins_[first];
      const bool is_before = block_begin < begin.position;
      if (is_before && begin.key == wanted.greatest) return none;
      wanted.least = static_cast<K>(begin.key + (is_before ? 1 : 0));
    }
    if (end != plan_.num_parts) {
      const part_begin& next = begins_[end];
      const bool is_before = block_begin < next.position;
      if (!is_before && next.key == 0) return none;
      wanted.greatest = static_cast<K>(next.key - (is_before ? 0 : 1));
    }
    return wanted;
  }

  workers& team_;
  keys::key_codec codec_;
  keys::codec_of<K> of_width_;
  part_plan plan_;
  std::array<part_begin, most_selected_parts> begins_ = {};
};

}  // namespace spansort::device::host

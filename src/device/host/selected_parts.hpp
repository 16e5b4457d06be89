// SPDX-License-Identifier: Apache-2.0
// Pairs of which one thread and more sort a part of the sorted order each, or some parts one after the other. A thread
// reads all keys once for each of its parts and takes out the pairs of it (select_pairs.hpp), which a sample bounds,
// and then sorts these into their place. Of equal keys the earlier ones may be of one part and the later ones of the
// next, so that parts are as large as the sample says, whatever keys repeat. Nobody counts or waits but between the two
// steps.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
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

/// There are no more parts, since all keys are read for each of them.
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

/// Returns how many bytes each of so many threads reads in less time than it takes to count and move them. A pass over
/// 8 MiB took 0.12 ns a pair on two threads of a Zen 4. Lines that another core had written came at 4 GB/s to each of
/// 16 cores of a Xeon, while levels get faster with every thread: 2^16 u32(u32) took 2.6 ns a pair by levels and 2.4 in
/// parts, 2^17 took 1.8 and 2.2. Argsorts by levels take longer: 2^17 f64 took 3.8 and 2.0. On four of these cores 2^18
/// u32(u32) took 3.0 and 2.3, 2^18 u64(u64) 4.0 and 3.9.
[[nodiscard]] constexpr std::uint64_t most_selected_bytes(unsigned num_threads, bool are_positions) noexcept {
  constexpr unsigned many_threads = 8;
  if (num_threads < many_pair_threads) return (std::uint64_t{1} << 27) / num_threads;
  if (num_threads < many_threads) return std::uint64_t{1} << 21;
  return std::uint64_t{1} << (are_positions ? 20 : 19);
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
  const std::uint64_t read_bytes = num_keys * (key_bytes + (are_positions ? 0 : value_bytes));
  const std::uint64_t parts_of_thread = plan.num_parts / plan.num_threads;
  const bool is_too_much = parts_of_thread * read_bytes > most_selected_bytes(num_threads, are_positions);
  return plan.num_parts > most_selected_parts || is_too_much ? part_plan() : plan;
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
    team_.for_each(plan_.num_parts, [&](std::uint64_t p) { counts[p] = select(from, num_keys, p, part_of(spare, p)); });
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

  /// Returns whether a partition tile by tile (tiled_pairs.hpp) takes less time than to read all keys once a part: 2^20
  /// u32(u32) took 6.6 ns a pair in parts and 5.6 in tiles where they crowd, 5.8 and 6.4 where they lie evenly; on two
  /// threads these took 3.5 and 3.0. `sorted` is the sample in order; tiles do not take what is in order already.
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

  /// Takes the pairs of a part out of `from`. Returns how many, and more than there is room for where they are too
  /// many.
  std::uint64_t select(split from, std::uint64_t num_keys, std::uint64_t p, split to) const {
    const bool is_first = p == 0;
    const bool is_last = p + 1 == plan_.num_parts;
    const part_begin begin = is_first ? part_begin{} : begins_[p];
    const part_begin end = is_last ? part_begin{} : begins_[p + 1];
    std::array<std::uint64_t, 4> cuts = {0, begin.position, end.position, num_keys};
    if (cuts[1] > cuts[2]) std::swap(cuts[1], cuts[2]);
    std::uint64_t count = 0;
    for (unsigned c = 0; c < 3 && count <= plan_.room(); ++c) {
      const std::uint64_t at = cuts[c];
      if (at == cuts[c + 1]) continue;
      key_interval<K> wanted{0, std::numeric_limits<K>::max()};
      // Equal keys before the begin are the last part's, those from the end on the next one's.
      if (!is_first) {
        if (at < begin.position && begin.key == wanted.greatest) continue;
        wanted.least = static_cast<K>(begin.key + (at < begin.position ? 1 : 0));
      }
      if (!is_last) {
        if (at >= end.position && end.key == 0) continue;
        wanted.greatest = static_cast<K>(end.key - (at >= end.position ? 1 : 0));
      }
      if (wanted.least > wanted.greatest) continue;
      split here = from;
      here.keys += at;
      if (from.values != nullptr) here.values += at;
      count += select_pairs<K, V>(of_width_, here, cuts[c + 1] - at, at, wanted, to + count, plan_.room() - count);
    }
    return count;
  }

  workers& team_;
  keys::key_codec codec_;
  keys::codec_of<K> of_width_;
  part_plan plan_;
  std::array<part_begin, most_selected_parts> begins_ = {};
};

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Records of many ascending runs, on all threads of a team. A run is partitioned by any splitter where it lies: what is
// of a bucket lies together in each run, so that buckets are copied together, run after run, and nothing is classified.
// The splitters are regular samples of the runs (Shi, Schaeffer: "Parallel Sorting by Regular Sampling", 1992), ordered
// by key, run and place, so that no bucket is larger than a thread's cache, however many keys tie.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/records.hpp"
#include "device/host/scratch.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/sort_limits.hpp"
#include "device/host/sort_watch.hpp"
#include "device/host/workers.hpp"
#include "device/streaming.hpp"

namespace spansort::device::host {

template <class K, class V, class Order>
class run_buckets {
 public:
  using split = split_records<K, V>;
  using samples = split_records<K, value4>;  ///< encoded keys, each with its run

  run_buckets(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Finds the runs, and where buckets begin in each. A call of sort_samples(samples, spare, n) sorts n samples by key,
  /// stably, where they are: in `other`, which has room for as many keys. Returns false where there are other runs than
  /// from two to 64, or fewer of the largest arrays, where keys are a few values, which later looks count, or where
  /// there is no memory for up to 16 MiB.
  template <class SortSamples>
  [[nodiscard]] bool choose(const K* keys, K* other, std::uint64_t num_keys, const SortSamples& sort_samples) {
    if (bucket_records() < 2 * least_step || num_keys < fewest_buckets * bucket_records()) return false;
    if (!look_at_first(codec_, keys, num_keys).ascending) return false;
    try {
      if (!find(keys, num_keys) || !cut(keys, other, sort_samples)) return false;
    } catch (const std::bad_alloc&) {
      return false;
    }
    refine(keys);
    place();
    return true;
  }

  /// Returns where the buckets are that gather() makes.
  [[nodiscard]] const std::vector<sort_segment>& buckets() const noexcept { return buckets_; }

  /// Copies the buckets of `from` to `to`, which does not overlap it. Leaves buckets out where the sort `can_stop` and
  /// is to.
  void gather(split from, split to, const sort_watch& watch, bool can_stop) const {
    const bool stream = keys_end() * record_bytes >= limits_.stream_pairs_bytes;
    team_.for_each(buckets_.size(), [&](std::uint64_t b) {
      if (can_stop && watch.stopping()) return;
      split next = to + buckets_[b].begin;
      for (std::uint64_t r = 0; r < num_runs(); ++r) {
        const std::uint64_t begin = begin_of(b, r);
        const std::uint64_t count = begin_of(b + 1, r) - begin;
        write_sequence(next.keys, from.keys + begin, count * sizeof(K), stream);
        if constexpr (value_bytes_of<V> != 0) {
          write_sequence(next.values, from.values + begin, count * sizeof(V), stream);
        }
        next = next + count;
      }
      finish_streaming();
      watch.advance(buckets_[b].count);
    });
  }

 private:
  static constexpr std::uint64_t record_bytes = sizeof(K) + value_bytes_of<V>;
  static constexpr std::uint64_t most_runs = 64;
  static constexpr std::uint64_t fewest_buckets = 16;
  static constexpr std::uint64_t least_step = 32;  ///< more samples would take too long
  static constexpr std::uint64_t most_begins_bytes = std::uint64_t{1} << 24;
  static constexpr std::uint64_t few_values = 16;  ///< these take less time when they are counted

  /// A sample that splits: the bucket before it ends with it.
  struct splitter {
    K key = 0;  ///< encoded
    std::uint64_t run = 0;
  };

  /// Returns how many records a bucket has at most: half of them are between the splitters, on an average, and as many
  /// may lie before the next sample of each run.
  [[nodiscard]] std::uint64_t bucket_records() const noexcept {
    return std::min(limits_.bucket_bytes / record_bytes, max_local_bytes / sizeof(packed_record<K, V>));
  }
  [[nodiscard]] std::uint64_t num_runs() const noexcept { return ends_.size() - 1; }
  [[nodiscard]] std::uint64_t keys_end() const noexcept { return ends_.back(); }
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t bucket, std::uint64_t run) const noexcept {
    return begins_[bucket * num_runs() + run];
  }

  [[nodiscard]] bool find(const K* keys, std::uint64_t num_keys) {
    const std::uint64_t num_rows = 2 * num_keys / bucket_records() + 2;
    const std::uint64_t most =
        std::min({most_runs, bucket_records() / (2 * least_step), most_begins_bytes / sizeof(begins_[0]) / num_rows});
    if (most < 2) return false;
    ends_.assign(most + 1, num_keys);
    const auto ends = std::span(ends_).subspan(1);
    const run_ends found = find_run_ends(in_pieces{team_, limits_.piece_keys}, codec_, keys, num_keys, ends);
    if (found.count >= most || found.count == 0) return false;
    std::ranges::sort(ends);
    ends_.resize(found.count + 2);
    ends_[0] = 0;
    return true;
  }

  /// Samples each run at regular steps, and the sorted samples again, whose samples are the splitters. What is between
  /// a bucket's first record in a run and the sample before it is left to refine(). Returns false where the samples are
  /// a few values.
  template <class SortSamples>
  [[nodiscard]] bool cut(const K* keys, K* other, const SortSamples& sort_samples) {
    step_ = bucket_records() / (2 * num_runs());
    const std::uint64_t room = keys_end() / step_;
    static_assert(least_step >= 4 && sizeof(value4) <= sizeof(K));  // there is room for all samples
    const samples taken{other, reinterpret_cast<value4*>(other + 2 * room)};
    const samples spare{other + room, reinterpret_cast<value4*>(other + 3 * room)};
    std::uint64_t num_samples = 0;
    for (std::uint64_t r = 0; r < num_runs(); ++r) {
      for (std::uint64_t i = ends_[r] + step_; i <= ends_[r + 1]; i += step_) {
        taken.put(num_samples++, {order_.encode(keys[i - 1]), {static_cast<std::uint32_t>(r)}});
      }
    }
    sort_samples(taken, spare, num_samples);
    std::uint64_t num_values = 1;
    for (std::uint64_t s = 1; s < num_samples && num_values <= few_values; ++s) {
      num_values += taken.keys[s] != taken.keys[s - 1] ? 1 : 0;
    }
    if (num_values <= few_values) return false;
    const std::uint64_t of_bucket = bucket_records() / 2 / step_;
    const std::uint64_t num_splitters = (num_samples - 1) / of_bucket;
    splitters_.reserve(num_splitters);
    buckets_.resize(num_splitters + 1);
    begins_.reserve((num_splitters + 2) * num_runs());
    std::vector<std::uint64_t> next(ends_.begin(), ends_.end() - 1);
    begins_.insert(begins_.end(), next.begin(), next.end());
    for (std::uint64_t s = 0; splitters_.size() < num_splitters; ++s) {
      const std::uint64_t run = taken.values[s].word;
      next[run] += step_;
      if ((s + 1) % of_bucket != 0) continue;
      splitters_.push_back({taken.keys[s], run});
      begins_.insert(begins_.end(), next.begin(), next.end());
    }
    begins_.insert(begins_.end(), ends_.begin() + 1, ends_.end());
    return true;
  }

  /// Finds where a bucket begins in each run, behind what samples say. Records that tie with the splitter are before it
  /// in earlier runs, and behind it in later ones.
  void refine(const K* keys) {
    const auto is_below = [&](K key, K encoded) { return order_.encode(key) < encoded; };
    const auto is_above = [&](K encoded, K key) { return encoded < order_.encode(key); };
    team_.for_each(splitters_.size(), [&](std::uint64_t s) {
      const splitter& by = splitters_[s];
      for (std::uint64_t r = 0; r < num_runs(); ++r) {
        std::uint64_t& begin = begins_[(s + 1) * num_runs() + r];
        const K* const first = keys + begin;
        const K* const last = keys + std::min(begin + step_, ends_[r + 1]);
        if (r < by.run) begin += static_cast<std::uint64_t>(std::upper_bound(first, last, by.key, is_above) - first);
        if (r > by.run) begin += static_cast<std::uint64_t>(std::lower_bound(first, last, by.key, is_below) - first);
      }
    });
  }

  void place() {
    std::uint64_t begin = 0;
    for (std::uint64_t b = 0; b < buckets_.size(); ++b) {
      std::uint64_t count = 0;
      for (std::uint64_t r = 0; r < num_runs(); ++r) count += begin_of(b + 1, r) - begin_of(b, r);
      buckets_[b] = {begin, count, {0, sizeof(K) * 8}};
      begin += count;
    }
  }

  workers& team_;
  Order order_;
  keys::codec_of<K> codec_;
  sort_limits limits_;
  std::vector<std::uint64_t> ends_;  ///< of the runs, behind a zero
  std::uint64_t step_ = 0;           ///< records from one sample of a run to the next
  std::vector<splitter> splitters_;
  std::vector<std::uint64_t> begins_;  ///< of each bucket in each run, and the ends of the last one
  std::vector<sort_segment> buckets_;
};

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Records of many ascending runs, on all threads of a team. A run is partitioned by any splitter where it lies: what is
// of a bucket lies together in each run, so that buckets are copied together, run after run, or merged, and nothing is
// classified.
// The splitters are regular samples of the runs (Shi, Schaeffer: "Parallel Sorting by Regular Sampling", 1992), ordered
// by key, run and place, so that no bucket is larger than a thread's cache, however many keys tie.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "device/host/bucket_merge.hpp"
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

/// Fewer buckets are not worth their samples.
inline constexpr std::uint64_t fewest_run_buckets = 16;
/// More samples would take too long: there is one for so many records, or for more.
inline constexpr std::uint64_t least_run_step = 32;

/// Returns how many records of so many bytes a bucket holds at most.
template <class K, class V>
[[nodiscard]] constexpr std::uint64_t run_bucket_records(std::uint64_t bytes) noexcept {
  return std::min(bytes / (sizeof(K) + value_bytes_of<V>), max_local_bytes / sizeof(packed_record<K, V>));
}

/// Returns whether a device partitions so many records where these are many runs.
template <class K, class V>
[[nodiscard]] constexpr bool can_be_many_runs(std::uint64_t num_records) noexcept {
  return sizeof(K) >= 4 && num_records >= fewest_run_buckets * run_bucket_records<K, V>(sort_limits{}.bucket_bytes);
}

/// Returns whether a device partitions what find_runs() has counted.
template <class K, class V>
[[nodiscard]] constexpr bool are_many_runs(const ordered_runs& runs, std::uint64_t num_records) noexcept {
  return can_be_many_runs<K, V>(num_records) && runs.num_runs > most_ordered_runs;
}

/// Returns how many records of a run there are from one sample to the next, where buckets hold at most so many.
[[nodiscard]] constexpr std::uint64_t run_sample_step(std::uint64_t most_records, std::uint64_t num_runs) noexcept {
  return most_records / (2 * num_runs);
}

/// Returns for how many keys the samples of so many runs take room.
template <class K, class V>
[[nodiscard]] constexpr std::uint64_t room_for_samples(std::uint64_t num_records, std::uint64_t num_runs) noexcept {
  const std::uint64_t fewest = run_bucket_records<K, V>(sort_limits{}.bucket_bytes);
  return 4 * (num_records / run_sample_step(fewest, num_runs) + 1);
}

template <class K, class V, class Order>
class run_buckets {
 public:
  using split = split_records<K, V>;
  using samples = split_records<K, value4>;  ///< encoded keys, each with its run

  run_buckets(workers& team, const Order& order, const keys::codec_of<K>& codec, const sort_limits& limits)
      : team_(team), order_(order), codec_(codec), limits_(limits) {}

  /// Finds the runs, and where buckets begin in each. A call of sort_samples(samples, spare, n) sorts n samples by key,
  /// stably, where they are: in `other`, which has room for as many keys, or for room_for_samples(). The threads have
  /// their scratch. Returns false where there are other runs than
  /// from two to 64, or fewer of the largest arrays, where keys are a few values, which later looks count, or where
  /// there is no memory for up to 16 MiB.
  template <class SortSamples>
  [[nodiscard]] bool choose(const K* keys, K* other, std::uint64_t num_keys, const SortSamples& sort_samples) {
    if (most_sorted_records() < 2 * least_run_step || num_keys < fewest_run_buckets * most_sorted_records())
      return false;
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

  /// Returns where the buckets lie in the result.
  [[nodiscard]] const std::vector<sort_segment>& buckets() const noexcept { return buckets_; }

  /// Calls f(run) for the runs of a bucket where they lie, from the left to the right.
  template <class F>
  void for_each_run(std::uint64_t bucket, const F& f) const {
    for (std::uint64_t r = 0; r < num_runs(); ++r) f(run_span{begin_of(bucket, r), begin_of(bucket + 1, r)});
  }

  /// Returns whether the runs are so few that it takes less time to merge those of a bucket than to sort it.
  [[nodiscard]] bool merges() const noexcept { return merges_; }

  /// Merges each bucket of `from` to its place in `to`, which does not overlap it. `from` and `to` have keys and values
  /// as First and Last say. Leaves buckets out where the sort `can_stop` and is to; calls done(bucket) of the others.
  template <merge_form First, merge_form Last, class Done>
  void merge(split from, split to, const sort_watch& watch, bool can_stop, const Done& done) const {
    with_merge_order([&]<class Cheapest>(const Cheapest& order) {
      for_each_bucket(watch, can_stop, [&](std::uint64_t b, worker_scratch& scratch) {
        bucket_merger<K, V, Cheapest>(order, scratch, most_records_)
            .template merge<First, Last>(from, runs_of(b), place_of<Last>(to, buckets_[b].begin));
        done(buckets_[b]);
      });
    });
  }

  /// Does so to what gather() has made of the source in `from`.
  template <class Done>
  void merge_gathered(split from, split to, const sort_watch& watch, const Done& done) const {
    with_merge_order([&]<class Cheapest>(const Cheapest& order) {
      for_each_bucket(watch, false, [&](std::uint64_t b, worker_scratch& scratch) {
        bucket_merger<K, V, Cheapest>(order, scratch, most_records_)
            .merge(from, gathered_runs_of(b), to + buckets_[b].begin);
        done(buckets_[b]);
      });
    });
  }

  /// Copies the buckets of `from` to `to`, which does not overlap it, or merges neighbouring runs on the way where it
  /// merges(). Leaves buckets out where the sort `can_stop` and is to.
  void gather(split from, split to, const sort_watch& watch, bool can_stop) const {
    if constexpr (most_merged_runs == 0) return copy_buckets(from, to, watch, can_stop);
    if (!merges()) return copy_buckets(from, to, watch, can_stop);
    with_merge_order([&](const auto& order) {
      for_each_bucket(watch, can_stop, [&](std::uint64_t b, worker_scratch&) {
        merge_bucket_level<merge_form::records>(order, from, runs_of(b), to + buckets_[b].begin);
      });
    });
  }

 private:
  void copy_buckets(split from, split to, const sort_watch& watch, bool can_stop) const {
    const bool stream = keys_end() * record_bytes >= limits_.stream_pairs_bytes;
    for_each_bucket(watch, can_stop, [&](std::uint64_t b, worker_scratch&) {
      split next = to + buckets_[b].begin;
      for_each_run(b, [&](const run_span& run) {
        write_sequence(next.keys, from.keys + run.begin, run.size() * sizeof(K), stream);
        if constexpr (value_bytes_of<V> != 0) {
          write_sequence(next.values, from.values + run.begin, run.size() * sizeof(V), stream);
        }
        next = next + run.size();
      });
      finish_streaming();
    });
  }

  static constexpr std::uint64_t record_bytes = sizeof(K) + value_bytes_of<V>;
  static constexpr std::uint64_t most_begins_bytes = std::uint64_t{1} << 24;
  static constexpr std::uint64_t few_values = 16;  ///< these take less time when they are counted
  /// Keys alone are sorted in vectors in as little time.
  static constexpr std::uint64_t most_merged_runs = value_bytes_of<V> == 0 ? 0 : most_bucket_runs;

  /// A sample that splits: the bucket before it ends with it.
  struct splitter {
    K key = 0;  ///< encoded
    std::uint64_t run = 0;
  };

  /// Returns how many records a bucket that is sorted has at most: half of them are between the splitters, on an
  /// average, and as many may lie before the next sample of each run.
  [[nodiscard]] std::uint64_t most_sorted_records() const noexcept {
    return run_bucket_records<K, V>(limits_.bucket_bytes);
  }

  /// Returns the same for a bucket that is merged. Short merges spend their time at the ends of runs: 2^22 u64(u64) in
  /// eight runs took one thread of an Emerald Rapids 42 ms in buckets as small, and 29 in those of four times the size,
  /// when the ends of a merge's three stretches were still searched for twice.
  [[nodiscard]] std::uint64_t most_merged_records() const noexcept {
    constexpr std::uint64_t larger = 4;
    return run_bucket_records<K, V>(std::clamp(shared_bytes(), limits_.bucket_bytes, larger * limits_.bucket_bytes));
  }
  /// Small records are sorted in less time than merged in small buckets: 2^20 u32(u32) in eight runs took 16 threads
  /// 0.80 to 0.88 ms sorted and 0.92 to 1.00 merged.
  [[nodiscard]] bool are_worth_merging() const noexcept {
    return record_bytes > 8 || shared_bytes() >= 2 * limits_.bucket_bytes;
  }
  /// Returns of what size buckets are of which there are some for each thread.
  [[nodiscard]] std::uint64_t shared_bytes() const noexcept {
    constexpr std::uint64_t buckets_of_thread = 8;
    return keys_end() * record_bytes / (buckets_of_thread * team_.num_threads());
  }
  [[nodiscard]] std::uint64_t num_runs() const noexcept { return ends_.size() - 1; }
  [[nodiscard]] std::uint64_t keys_end() const noexcept { return ends_.back(); }
  [[nodiscard]] std::uint64_t begin_of(std::uint64_t bucket, std::uint64_t run) const noexcept {
    return begins_[bucket * num_runs() + run];
  }

  /// Calls work(bucket, scratch) for all buckets, on all threads.
  template <class Work>
  void for_each_bucket(const sort_watch& watch, bool can_stop, const Work& work) const {
    std::atomic<std::uint64_t> next{0};
    team_.for_each(buckets_.size(), [&](std::uint64_t i, worker_scratch& scratch) {
      if (can_stop && watch.stopping()) return;
      // Results are taken away from the begin on, not from where each thread has its share.
      const std::uint64_t b = watch.has_flow() ? next.fetch_add(1, std::memory_order_relaxed) : i;
      work(b, scratch);
      watch.advance(buckets_[b].count);
    });
  }

  template <merge_form Last>
  [[nodiscard]] static split place_of(split to, std::uint64_t begin) noexcept {
    if constexpr (Last == merge_form::records_to_values) return {nullptr, to.values + begin};
    return to + begin;
  }

  /// Calls f(order) with the cheapest one that sorts as `Order` does.
  template <class F>
  void with_merge_order(F&& f) const {
    if constexpr (std::is_same_v<Order, folding_order<K>>) {
      with_folding_order_of_merge(codec_, has_nan_, f);
    } else {
      with_bijective_order_of_merge(codec_, has_nan_, f);
    }
  }

  [[nodiscard]] bucket_runs runs_of(std::uint64_t bucket) const noexcept {
    bucket_runs runs;
    for_each_run(bucket, [&](const run_span& run) { runs.append(run); });
    return runs;
  }
  [[nodiscard]] bucket_runs gathered_runs_of(std::uint64_t bucket) const noexcept {
    const bucket_runs of_source = runs_of(bucket);
    bucket_runs runs;
    std::uint64_t begin = buckets_[bucket].begin;
    for (std::uint64_t r = 0; r < of_source.count; r += 2) {
      std::uint64_t end = begin + of_source.spans[r].size();
      if (r + 1 < of_source.count) end += of_source.spans[r + 1].size();
      runs.append({begin, end});
      begin = end;
    }
    return runs;
  }

  [[nodiscard]] bool find(const K* keys, std::uint64_t num_keys) {
    const std::uint64_t num_rows = 2 * num_keys / most_sorted_records() + 2;
    const std::uint64_t most = std::min({std::uint64_t{most_counted_runs}, most_sorted_records() / (2 * least_run_step),
                                         most_begins_bytes / sizeof(begins_[0]) / num_rows});
    if (most < 2) return false;
    ends_.assign(most + 1, num_keys);
    const auto ends = std::span(ends_).subspan(1);
    const run_ends found = find_run_ends(in_pieces{team_, limits_.piece_keys}, codec_, keys, num_keys, ends);
    if (found.count >= most || found.count == 0) return false;
    std::ranges::sort(ends);
    ends_.resize(found.count + 2);
    ends_[0] = 0;
    merges_ = num_runs() <= most_merged_runs && are_worth_merging();
    most_records_ = merges_ ? most_merged_records() : most_sorted_records();
    has_nan_ = has_nan(codec_, keys, std::span<const std::uint64_t>(ends_).subspan(1));
    return true;
  }

  /// Samples each run at regular steps, and the sorted samples again, whose samples are the splitters. What is between
  /// a bucket's first record in a run and the sample before it is left to refine(). Returns false where the samples are
  /// a few values.
  template <class SortSamples>
  [[nodiscard]] bool cut(const K* keys, K* other, const SortSamples& sort_samples) {
    step_ = run_sample_step(most_records_, num_runs());
    const std::uint64_t room = keys_end() / step_;
    static_assert(least_run_step >= 4 && sizeof(value4) <= sizeof(K));  // there is room for all samples
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
    const std::uint64_t of_bucket = most_records_ / 2 / step_;
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
  bool has_nan_ = false;
  bool merges_ = false;
  std::uint64_t most_records_ = 0;  ///< of a bucket
  std::uint64_t step_ = 0;          ///< records from one sample of a run to the next
  std::vector<splitter> splitters_;
  std::vector<std::uint64_t> begins_;  ///< of each bucket in each run, and the ends of the last one
  std::vector<sort_segment> buckets_;
};

}  // namespace spansort::device::host

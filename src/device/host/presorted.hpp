// SPDX-License-Identifier: Apache-2.0
// Large records that are mostly in order, on all threads of a team: a few ascending runs are merged, what has been
// appended to a long run is sorted alone and merged with it, a few keys that lie anywhere are sorted alone and put into
// their places, and many runs are partitioned where they lie.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "device/host/misplaced_keys.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/run_buckets.hpp"
#include "device/host/sort_call.hpp"

namespace spansort::device::host {

/// Sorts whole records of `source`, if they are so. The result is there or in `alternate`, which is overwritten.
template <class K, class V, class Order>
class presorted_records {
 public:
  using split = split_records<K, V>;

  presorted_records(sort_call<K, V, Order>& call, split source, split alternate, split result, std::uint64_t num_keys)
      : call_(call), source_(source), alternate_(alternate), result_(result), num_keys_(num_keys) {}

  /// Leaves one run, merges a few, and sorts what a long one is followed by. A call of sort_tail(tail, other, n) sorts
  /// n records of `tail` where they are, and may overwrite as many of `other`. Returns false, with nothing written,
  /// where there are other runs.
  template <class Each, class SortTail>
  [[nodiscard]] bool merge_runs(const Each& each, const SortTail& sort_tail) {
    const unsigned most = most_runs_to_merge<K, V>(call_.codec, num_keys_, call_.team.num_threads());
    if (most < 2 || !look_at_first(call_.codec, source_.keys, num_keys_).ascending) return false;
    ordered_runs runs = find_runs(each, call_.codec, source_.keys, num_keys_, most);
    if (are_misplaced_keys(call_.codec, source_.keys, num_keys_, runs)) return false;
    const std::uint64_t num_tail = num_keys_ - runs.first_end;
    if (!runs.are_few() && !is_worth_a_merge(num_tail, num_keys_)) return false;
    call_.outcome.bytes_moved += num_keys_ * sizeof(K);
    if (runs.count == 1) {
      const bool are_alike = call_.order.encode(source_.keys[0]) == call_.order.encode(source_.keys[num_keys_ - 1]);
      return call_.finish_ordered({true, are_alike, false}, source_, result_, num_keys_, whole_keys);
    }
    const std::uint64_t num_front = runs.first_end;
    const bool has_tail = !runs.are_few();
    if (has_tail) {
      sort_aside(num_front, sort_tail);
      if (moves_blocks(num_tail)) return move_blocks(num_front);
      call_.copy(alternate_ + num_front, source_ + num_front, num_tail);
      runs = {.count = 2, .begins = {0, num_front, num_keys_}};
    }
    // Until the source is overwritten, pieces are left out where the sort is to stop.
    bool may_stop = call_.can_stop && !has_tail;
    const auto watched = [&](std::uint64_t num_records, const auto& work) {
      each(num_records, [&](const piece& part) {
        if (!may_stop || !call_.watch.stopping()) work(part);
      });
    };
    const auto stop_if_asked = [&] {
      if (std::exchange(may_stop, false)) call_.watch.stop_if_asked();
    };
    const unsigned moves = host::merge_runs(call_.codec, watched, source_, alternate_, result_, runs, stop_if_asked);
    stop_if_asked();
    finish(moves, 2 * moves, has_tail ? num_front : num_keys_);
    return true;
  }

  /// Sorts what is in order but for a few keys. A call of sort(misplaced, spare, n) sorts n of these, with where they
  /// come from. Returns false, with nothing done, where there are others.
  template <class SortMisplaced>
  [[nodiscard]] bool sort_nearly_ordered(const SortMisplaced& sort_misplaced) {
    if (!may_be_nearly_ordered(call_.codec, source_.keys, num_keys_)) return false;
    misplaced_sorter<K, V, in_team_parts> sorter(call_.codec, source_.keys, num_keys_, {call_.team, num_keys_});
    const bool are_few = sorter.find({reinterpret_cast<std::byte*>(alternate_.keys), num_keys_ * sizeof(K)});
    call_.outcome.bytes_moved += num_keys_ * sizeof(K);
    if (!are_few) return false;
    sorter.sort_records(source_, sort_misplaced);
    call_.copy(source_, result_, num_keys_);
    finish(1, 2, num_keys_);
    return true;
  }

  /// Partitions many runs. A call of sort_samples() is as run_buckets::choose() says; sort_each(buckets) sorts those of
  /// the alternate into the result. Returns false, with nothing of the source written, where there are other runs.
  template <class SortSamples, class SortEach>
  [[nodiscard]] bool sort_in_buckets(const SortSamples& sort_samples, const SortEach& sort_each) {
    run_buckets<K, V, Order> runs(call_.team, call_.order, call_.codec, call_.limits);
    if (!runs.choose(source_.keys, alternate_.keys, num_keys_, sort_samples)) return false;
    call_.outcome.bytes_moved += num_keys_ * sizeof(K);
    if (call_.can_stop) call_.watch.stop_if_asked();
    if constexpr (value_bytes_of<V> != 0) {
      if (runs.merges()) {
        merge_buckets(runs);
        return true;
      }
    }
    runs.gather(source_, alternate_, call_.watch, call_.can_stop);
    finish(2, 2, 0);
    if (call_.can_stop) call_.watch.stop_if_asked();
    sort_each(runs.buckets());
    return true;
  }

 private:
  static constexpr keys::bit_range whole_keys{0, sizeof(K) * 8};

  [[nodiscard]] bool moves_blocks(std::uint64_t num_tail) const noexcept {
    return result_.keys == source_.keys && is_short_tail(num_tail, num_keys_, call_.team.num_threads());
  }

  void merge_buckets(const run_buckets<K, V, Order>& runs) {
    if (result_.keys != source_.keys) {
      constexpr merge_form records = merge_form::records;
      runs.template merge<records, records>(source_, result_, call_.watch, call_.can_stop, [](const auto&) {});
      if (call_.can_stop) call_.watch.stop_if_asked();
      finish(1, 2, 0);
      return call_.hand_over(result_, num_keys_);
    }
    runs.gather(source_, alternate_, call_.watch, call_.can_stop);
    if (call_.can_stop) call_.watch.stop_if_asked();
    runs.merge_gathered(alternate_, result_, call_.watch,
                        [&](const sort_segment& b) { call_.hand_over(result_ + b.begin, b.count); });
    finish(2, 4, 0);
  }

  /// Sorts a copy of the records behind the first ones, in the place beside them. The source stays whole.
  template <class SortTail>
  void sort_aside(std::uint64_t num_front, const SortTail& sort_tail) {
    const std::uint64_t num_tail = num_keys_ - num_front;
    if (call_.can_stop) call_.watch.stop_if_asked();
    call_.copy(source_ + num_front, alternate_ + num_front, num_tail);
    sort_tail(alternate_ + num_front, alternate_, num_tail);
    if (call_.can_stop) call_.watch.stop_if_asked();
  }

  bool move_blocks(std::uint64_t num_front) {
    merge_sorted_tail(call_.order, source_, num_front, alternate_ + num_front, num_keys_ - num_front);
    finish(1, 2, num_front);
    return true;
  }

  void finish(unsigned num_passes, std::uint64_t moves, std::uint64_t num_done) {
    call_.outcome.num_passes = std::max(call_.outcome.num_passes, num_passes);
    call_.add_moves(num_keys_, moves);
    call_.watch.advance(num_done);
  }

  sort_call<K, V, Order>& call_;
  split source_;
  split alternate_;
  split result_;
  std::uint64_t num_keys_;
};

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_pairs.hpp"

#include <algorithm>
#include <mutex>
#include <new>

#include "device/host/misplaced_keys.hpp"
#include "device/host/record_dispatch.hpp"
#include "device/host/run_buckets.hpp"
#include "device/host/shared_call.hpp"
#include "device/host/sort_level.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

/// Sorts pairs whose keys are in order but for a few. Returns false, with nothing done, where there are others.
bool sort_nearly_ordered(const shared_call& call) {
  const keys::key_codec& key_codec = call.shape.codec;
  return keys::with_width(key_codec.width_bytes(), [&]<class K>() {
    return with_value(call.shape.value_bytes, [&]<class V>() {
      if constexpr (sizeof(K) >= 4 && value_bytes_of<V> != 0) {
        const auto codec = key_codec.of<K>();
        const auto records = split<K, V>(call.source);
        if (!may_be_nearly_ordered(codec, records.keys, call.num_keys)) return false;
        // Another thread has to fetch the lines that this one has: 2^16 u64(u64) took 120 us and alone 95.
        const bool alone = call.num_keys <= most_small_pairs && sizeof(K) + sizeof(V) > 8;
        if (!alone) call.team.prepare_scratch();
        const in_team_parts parts(call.team, call.num_keys, alone);
        misplaced_sorter<K, V, in_team_parts> sorter(codec, records.keys, call.num_keys, parts);
        if (!sorter.find(spare_memory(call))) return false;
        sorter.sort_records(records, sort_with_origins<K>(call));
        return true;
      }
      return false;
    });
  });
}

/// One thread moves the blocks between the records of a tail of so few bytes in less time than many merge. On 16
/// threads of an Emerald Rapids 2^16 u32(u32) with a tail of one in a hundred took 38 us moved and 75 merged, 2^17 187
/// and 119, 2^16 u64(u64) 140 and 118.
constexpr std::uint64_t few_tail_bytes = std::uint64_t{1} << 13;

/// Merges records of a few runs, in place. Returns false, with nothing written, where there are others.
template <class K, class V>
bool merge_few_runs(workers& team, const keys::codec_of<K>& codec, split_records<K, V> records,
                    split_records<K, V> spare, const ordered_runs& runs) {
  if constexpr (sizeof(K) >= 4) {
    if (runs.count < 2) return runs.are_few();
    team.prepare_scratch();
    merge_runs(codec, in_pieces{team, sort_limits{}.piece_keys}, records, spare, records, runs, [] {});
    return true;
  }
  return false;
}

/// Sorts what is in order but for a tail, or of a few runs. Returns false, with nothing done, where it is not.
bool sort_runs(const shared_call& call) {
  const keys::key_codec& key_codec = call.shape.codec;
  return keys::with_width(key_codec.width_bytes(), [&]<class K>() {
    const keys::codec_of<K> codec = key_codec.of<K>();
    return with_value_and_order<K>(call.shape, codec, [&]<class V, class Order>() {
      if constexpr (value_bytes_of<V> == 0) {
        return false;
      } else {
        const auto records = split<K, V>(call.source);
        const auto spare = split<K, V>(call.alternate);
        if (!look_at_first(codec, records.keys, call.num_keys).ascending) return false;
        const ordered_runs runs = find_few_runs<K, V>(call.team, codec, records.keys, call.num_keys);
        const std::uint64_t front = runs.first_end;
        const std::uint64_t num_tail = call.num_keys - front;
        constexpr std::uint64_t record_bytes = sizeof(K) + value_bytes_of<V>;
        const unsigned num_threads = call.team.num_threads();
        const bool is_small = call.num_keys <= most_alone(num_threads) || num_tail * record_bytes <= few_tail_bytes;
        const unsigned num_mergers = is_small ? 1 : num_threads;
        if (!is_short_tail(num_tail, call.num_keys, num_mergers) || num_tail > most_small_pairs) {
          const bool are_many = are_many_runs<K, V>(runs, call.num_keys);
          if (!runs.are_few() && (are_many || goes_to_a_device(call, num_tail))) {
            sort_with(call);
            return true;
          }
          return merge_few_runs(call.team, codec, records, spare, runs);
        }
        const auto tail = records + front;
        sort_small_pairs(key_codec, tail.keys, tail.values, sizeof(V), num_tail);
        merge_tail(Order(codec), records, front, call.num_keys, spare);
        return true;
      }
    });
  });
}

/// Returns whether the keys are in an order that leaves nothing to sort.
bool is_in_order(const shared_call& call) {
  return keys::with_width(call.shape.codec.width_bytes(), [&]<class K>() {
    const auto* const keys = static_cast<const K*>(call.source.keys);
    const auto codec = call.shape.codec.of<K>();
    if (!is_settled(look_at_first(codec, keys, call.num_keys))) return false;
    const piece_list pieces = cut_into_pieces(call.num_keys, call.team.num_threads(), sort_limits{}.piece_keys);
    return is_settled(find_order(call.team, codec, pieces, keys));
  });
}

}  // namespace

std::uint64_t shared_pairs_bytes(std::uint64_t data_bytes, unsigned num_threads) {
  // Each of up to three arrays has spare pairs, less than a page of them, and ends on a page. Few pairs have more room.
  constexpr std::uint64_t small_bytes = most_small_pairs * 24;
  return data_bytes + std::max(data_bytes / 4, std::min(data_bytes / 2, small_bytes / 2)) + 6 * shared_page_bytes +
         std::min(num_threads, most_shared_pairs_threads) * worker_scratch::size_bytes;
}

void release_shared_pairs() noexcept {
  kept_team& shared = kept_pair_team();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (lock.owns_lock()) shared.release();
}

bool sort_shared_pairs(const keys::key_codec& codec, void* keys, void* values, std::uint64_t value_bytes,
                       std::uint64_t num_keys, unsigned num_threads) {
  num_threads = std::min(num_threads, most_shared_pairs_threads);
  const part_plan plan = plan_parts(codec.width_bytes(), value_bytes, false, num_keys, num_threads);
  if (may_settle_alone(num_keys, num_threads) && settle_small_pairs(codec, keys, values, value_bytes, num_keys)) {
    return true;
  }
  if (are_one_threads(codec, plan, keys, num_keys, num_threads)) {
    sort_small_pairs(codec, keys, values, value_bytes, num_keys);
    return true;
  }
  kept_team& shared = kept_pair_team();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const std::uint64_t num_spare = std::max(num_keys, plan.num_spare());
  const std::uint64_t keys_bytes = pages(num_spare * codec.width_bytes());
  workers& team =
      shared.prepare(num_threads, num_ready_for(num_keys, num_threads), keys_bytes + pages(num_spare * value_bytes));
  const shared_call call{team,           {codec, static_cast<unsigned>(value_bytes)},
                         {keys, values}, {shared.memory(), shared.memory() + keys_bytes},
                         num_keys,       plan};
  if (sort_runs(call) || sort_nearly_ordered(call)) return true;
  if (!is_in_order(call) && sort_in_parts(call, call.source)) return true;
  if (num_keys <= most_alone(call.team.num_threads())) {
    sort_small_pairs(codec, keys, values, value_bytes, num_keys);
  } else {
    sort_with(call);
  }
  return true;
}

bool sort_shared_keys(const keys::key_codec& codec, void* keys, std::uint64_t num_keys, unsigned num_threads) {
  kept_team& shared = kept_pair_team();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  num_threads = std::min(num_threads, most_shared_pairs_threads);
  workers& team = shared.prepare(num_threads, num_threads, pages(num_keys * codec.width_bytes()));
  sort_with({team, {codec, 0}, {keys, nullptr}, {shared.memory(), nullptr}, num_keys});
  return true;
}

template <class K>
bool merge_shared_runs(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, unsigned num_threads,
                       const tail_sort<K>& sort_tail) {
  const unsigned most = most_runs_to_merge<K, no_value>(codec, num_keys, num_threads);
  // Memory is not taken for what turns out to be many short runs.
  const std::uint64_t long_run = std::max<std::uint64_t>(num_keys / 16, 4096);
  if (most < 2 || num_keys < long_run || !scan_order(codec, keys, long_run).ascending) return false;
  kept_team& shared = kept_pair_team();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  num_threads = std::min(num_threads, most_shared_pairs_threads);
  try {
    shared.prepare(num_threads, num_threads, pages(num_keys * sizeof(K)));
  } catch (const std::bad_alloc&) {
    return false;
  }
  workers& team = shared.team();
  const split_records<K, no_value> records{keys, nullptr};
  const split_records<K, no_value> spare{reinterpret_cast<K*>(shared.memory()), nullptr};
  ordered_runs runs = find_runs(in_pieces{team, sort_limits{}.piece_keys}, codec, keys, num_keys, most);
  if (are_misplaced_keys(codec, keys, num_keys, runs)) return false;
  const std::uint64_t num_front = runs.first_end;
  if (!runs.are_few() && is_worth_a_merge(num_keys - num_front, num_keys)) {
    sort_tail(keys + num_front, num_keys - num_front);
    runs = {.count = 2, .begins = {0, num_front, num_keys}};
  }
  return merge_few_runs(team, codec, records, spare, runs);
}

template bool merge_shared_runs<std::uint32_t>(const keys::codec_of<std::uint32_t>&, std::uint32_t*, std::uint64_t,
                                               unsigned, const tail_sort<std::uint32_t>&);
template bool merge_shared_runs<std::uint64_t>(const keys::codec_of<std::uint64_t>&, std::uint64_t*, std::uint64_t,
                                               unsigned, const tail_sort<std::uint64_t>&);

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_order.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <type_traits>

#include "base/assert.hpp"
#include "device/host/in_cache_sort.hpp"
#include "device/host/merge_records.hpp"
#include "device/host/misplaced_keys.hpp"
#include "device/host/record_dispatch.hpp"
#include "device/host/run_buckets.hpp"
#include "device/host/scratch.hpp"
#include "device/host/shared_call.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/write_positions.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

/// Writes the order of keys in order but for a few. Returns false, with nothing done, where there are others.
template <class K, class V>
bool argsort_nearly_ordered(const shared_call& call, const K* keys, V* indices) {
  if constexpr (sizeof(K) >= 4) {
    const auto codec = call.shape.codec.of<K>();
    if (!may_be_nearly_ordered(codec, keys, call.num_keys)) return false;
    call.team.prepare_scratch();
    misplaced_sorter<K, V, in_team_parts> sorter(codec, keys, call.num_keys, {call.team, call.num_keys});
    if (!sorter.find(spare_memory(call))) return false;
    sorter.write_order(indices, sort_with_origins<K>(call));
    return true;
  }
  return false;
}

/// Writes the positions of keys in order, or of those in the opposite one.
template <class V>
void write_all_positions(workers& team, const piece_list& pieces, V* indices, std::uint64_t num_keys, bool reversed) {
  team.for_each(pieces.size(), [&](std::uint64_t p) {
    const piece part = pieces[p];
    if (reversed) {
      write_positions_down(indices + part.begin, part.count, num_keys - 1 - part.begin);
    } else {
      write_positions(indices + part.begin, part.count, part.begin);
    }
  });
}

/// Puts the keys of a bucket and their positions into a thread's memory, sorts them there, and writes the positions.
template <class K, class V, class Order>
void order_bucket(const run_buckets<K, V, Order>& runs, std::uint64_t bucket, const Order& order,
                  const keys::codec_of<K>& codec, worker_scratch& scratch, const K* keys, V* indices) {
  const sort_segment& place = runs.buckets()[bucket];
  const std::uint64_t needed_bytes = split_bytes<K, V>(place.count);
  SPANSORT_ASSERT(needed_bytes <= combining_bytes / 2);
  // The sort leaves the first bytes of this memory as they are.
  const auto records = split_at<K, V>(scratch.combining.get(), place.count);
  split_records<K, V> next = records;
  runs.for_each_run(bucket, [&](const run_span& run) {
    std::memcpy(next.keys, keys + run.begin, run.size() * sizeof(K));
    write_positions(next.values, run.size(), run.begin);
    next = next + run.size();
  });
  in_cache_sorter<K, V, Order> sorter(order, codec, scratch, false);
  sorter.keep(needed_bytes);
  sorter.sort(records, records, place.count, place.bits);
  std::memcpy(static_cast<void*>(indices + place.begin), records.values, place.count * sizeof(V));
}

/// Writes the order of keys of three to 64 runs, of which nothing is copied but samples into `room`. Returns false,
/// with nothing written, where they are others, or too few, or where there is no memory.
template <class K, class V>
bool order_runs_in_buckets(const shared_call& call, const K* keys, K* room, V* indices) {
  const auto codec = call.shape.codec.of<K>();
  return with_value_and_order<K>(call.shape, codec, [&]<class Same, class Order>() {
    if constexpr (std::is_same_v<Same, V>) {
      call.team.prepare_scratch();
      run_buckets<K, V, Order> runs(call.team, Order(codec), codec, sort_limits{});
      const auto sort_samples = [&](const auto& found, const auto& spare, std::uint64_t count) {
        const keys::key_codec encoded{sizeof(K) == 4 ? key_type::u32 : key_type::u64};
        sort_with({call.team, {encoded, 4}, {found.keys, found.values}, {spare.keys, spare.values}, count});
      };
      if (!runs.choose(keys, room, call.num_keys, sort_samples)) return false;
      if (runs.merges()) {
        runs.template merge<merge_form::keys_to_records, merge_form::records_to_values>(
            {const_cast<K*>(keys), nullptr}, {nullptr, indices}, {nullptr, nullptr}, false, [](const auto&) {});
        return true;
      }
      call.team.for_each(runs.buckets().size(), [&](std::uint64_t b, worker_scratch& scratch) {
        order_bucket(runs, b, Order(codec), codec, scratch, keys, indices);
      });
      return true;
    }
    return false;
  });
}

/// Sorts a copy of the keys, and their positions with them. Those of narrow keys travel as 32 bits, to move
/// fewer bytes.
template <class K, class V>
void sort_copy(const shared_call& call, const piece_list& pieces, const K* keys, V* indices) {
  constexpr bool narrows = sizeof(K) <= 4 && sizeof(V) == 8;
  using position = std::conditional_t<narrows, value4, V>;
  shared_call sorted = call;
  auto* positions = reinterpret_cast<position*>(indices);
  if constexpr (narrows) {
    positions = static_cast<position*>(call.alternate.values);
    sorted.shape.value_bytes = sizeof(position);
    sorted.source.values = positions;
    sorted.alternate.values = positions + call.num_keys;
  }
  if (!sort_in_parts(sorted, {const_cast<K*>(keys), nullptr})) {
    if (call.num_keys <= most_alone(call.team.num_threads())) {
      return argsort_small(call.shape.codec, keys, indices, sizeof(V), call.num_keys);
    }
    auto* const copy = static_cast<K*>(call.source.keys);
    call.team.for_each(pieces.size(), [&](std::uint64_t p) {
      std::memcpy(copy + pieces[p].begin, keys + pieces[p].begin, pieces[p].count * sizeof(K));
    });
    write_all_positions(call.team, pieces, positions, call.num_keys, false);
    sort_with(sorted);
  }
  if constexpr (narrows) {
    call.team.for_each(pieces.size(), [&](std::uint64_t p) {
      const std::uint64_t end = pieces[p].begin + pieces[p].count;
      for (std::uint64_t i = pieces[p].begin; i < end; ++i) indices[i].word = positions[i].word;
    });
  }
}

template <class K, class V>
void argsort_with(const shared_call& call, const K* keys, V* indices) {
  const auto codec = call.shape.codec.of<K>();
  const piece_list pieces = cut_into_pieces(call.num_keys, call.team.num_threads(), sort_limits{}.piece_keys);
  const order_flags first = look_at_first(codec, keys, call.num_keys);
  if (!first.ascending) {
    if (first.strictly_descending && find_order(call.team, codec, pieces, keys).strictly_descending) {
      return write_all_positions(call.team, pieces, indices, call.num_keys, true);
    }
    if (!argsort_nearly_ordered(call, keys, indices)) sort_copy<K>(call, pieces, keys, indices);
    return;
  }
  const ordered_runs runs = find_few_runs<K, V>(call.team, codec, keys, call.num_keys);
  if (runs.count == 1) return write_all_positions(call.team, pieces, indices, call.num_keys, false);
  const std::uint64_t front = runs.first_end;
  const std::uint64_t num_tail = call.num_keys - front;
  if (is_short_tail(num_tail, call.num_keys) && num_tail <= most_small_pairs) {
    auto* const tail = static_cast<V*>(call.alternate.values);
    argsort_small(call.shape.codec, keys + front, tail, sizeof(V), num_tail);
    return with_value_and_order<K>(call.shape, codec, [&]<class Same, class Order>() {
      if constexpr (std::is_same_v<Same, V>) {
        merge_tail_order(Order(codec), keys, {0, front}, front, static_cast<const V*>(tail), num_tail, indices);
      }
    });
  }
  if constexpr (sizeof(K) >= 4) {
    if (runs.are_few()) {
      call.team.prepare_scratch();
      const in_pieces each{call.team, sort_limits{}.piece_keys};
      return order_runs(codec, each, keys, split<K, V>(call.alternate), indices, runs);
    }
  }
  if (argsort_nearly_ordered(call, keys, indices)) return;
  if constexpr (sizeof(K) >= 4) {
    auto* const room = static_cast<K*>(call.source.keys);
    if (are_many_runs<K, V>(runs, call.num_keys) && order_runs_in_buckets(call, keys, room, indices)) return;
  }
  shared_call as_a_device = call;
  if (goes_to_a_device(call, num_tail)) as_a_device.plan = {};
  sort_copy<K>(as_a_device, pieces, keys, indices);
}

/// Writes the order of any number of keys that ascend but for a short tail, whose records take new memory.
template <class K, class V>
void order_with_tail(const shared_call& call, const piece_list& pieces, const K* keys, std::uint64_t num_front,
                     V* indices) {
  const std::uint64_t num_tail = call.num_keys - num_front;
  const std::uint64_t records_bytes = split_bytes<K, V>(num_tail);
  const aligned_array<std::byte> memory = make_aligned<std::byte>(2 * records_bytes);
  const auto tail = split_at<K, V>(memory.get(), num_tail);
  const auto spare = split_at<K, V>(memory.get() + records_bytes, num_tail);
  const shared_call of_tail{call.team, call.shape, {tail.keys, tail.values}, {spare.keys, spare.values}, num_tail};
  std::memcpy(tail.keys, keys + num_front, num_tail * sizeof(K));
  write_positions(tail.values, num_tail);
  sort_with(of_tail);
  const auto codec = call.shape.codec.of<K>();
  with_value_and_order<K>(call.shape, codec, [&]<class Same, class Order>() {
    if constexpr (std::is_same_v<Same, V>) {
      const Order order(codec);
      const sorted_runs<K, no_value> runs{{{const_cast<K*>(keys), nullptr}, num_front},
                                          {{tail.keys, nullptr}, num_tail}};
      call.team.for_each(pieces.size(), [&](std::uint64_t p) {
        const std::uint64_t end = pieces[p].begin + pieces[p].count;
        const std::uint64_t left = co_rank(order, runs, pieces[p].begin);
        const std::uint64_t left_end = co_rank(order, runs, end);
        const std::uint64_t right = pieces[p].begin - left;
        merge_tail_order(order, keys, {left, left_end}, num_front, tail.values + right, end - left_end - right,
                         indices + pieces[p].begin);
      });
    }
  });
}

/// Writes the order of any number of keys that are nearly in order, if they are so: of runs up to `most_runs`.
template <class K, class V>
bool order_presorted(const shared_call& call, const K* keys, V* indices, unsigned most_runs) {
  if constexpr (sizeof(K) < 4) {
    return false;
  } else {
    const auto codec = call.shape.codec.of<K>();
    const std::uint64_t num_keys = call.num_keys;
    if (!look_at_first(codec, keys, num_keys).ascending) return argsort_nearly_ordered(call, keys, indices);
    const piece_list pieces = cut_into_pieces(num_keys, call.team.num_threads(), sort_limits{}.piece_keys);
    const ordered_runs runs = find_few_runs<K, V>(call.team, codec, keys, num_keys);
    if (runs.count == 1) {
      write_all_positions(call.team, pieces, indices, num_keys, false);
      return true;
    }
    if (runs.count == 2) {
      order_runs(codec, in_pieces{call.team, sort_limits{}.piece_keys}, keys, {nullptr, nullptr}, indices, runs);
      return true;
    }
    if (is_short_tail(num_keys - runs.first_end, num_keys)) {
      order_with_tail(call, pieces, keys, runs.first_end, indices);
      return true;
    }
    if (argsort_nearly_ordered(call, keys, indices)) return true;
    if (runs.num_runs == 0 || runs.num_runs > most_runs) return false;
    const auto room = make_aligned<K>(room_for_samples<K, V>(num_keys, runs.num_runs));
    return order_runs_in_buckets(call, keys, room.get(), indices);
  }
}

/// Calls f(typed keys, typed indices).
template <class F>
bool with_keys_and_indices(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                           F&& f) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* const first = static_cast<const K*>(keys);
    if (index_bytes == 4) return f(first, static_cast<value4*>(indices));
    return f(first, static_cast<value8*>(indices));
  });
}

}  // namespace

bool argsort_presorted_shared(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                              std::uint64_t num_keys, unsigned num_threads) {
  const bool may_be = keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* const first = static_cast<const K*>(keys);
    return sizeof(K) >= 4 && (look_at_first(codec.of<K>(), first, num_keys).ascending ||
                              may_be_nearly_ordered(codec.of<K>(), first, num_keys));
  });
  if (!may_be) return false;
  kept_team& shared = kept_pair_team();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  // A device sorts buckets on more threads than these.
  const unsigned most_runs = num_threads > most_shared_pairs_threads ? most_bucket_runs : most_counted_runs;
  num_threads = std::min(num_threads, most_shared_pairs_threads);
  const shared_call call{
      shared.prepare(num_threads, num_threads, 0), {codec, static_cast<unsigned>(index_bytes)}, {}, {}, num_keys};
  return with_keys_and_indices(codec, keys, indices, index_bytes, [&](const auto* first, auto* to) {
    return order_presorted(call, first, to, most_runs);
  });
}

bool argsort_shared(const keys::key_codec& codec, const void* keys, void* indices, std::uint64_t index_bytes,
                    std::uint64_t num_keys, unsigned num_threads) {
  num_threads = std::min(num_threads, most_shared_pairs_threads);
  const part_plan plan = plan_parts(codec.width_bytes(), index_bytes, true, num_keys, num_threads);
  if (may_settle_alone(num_keys, num_threads) && settle_small_argsort(codec, keys, indices, index_bytes, num_keys)) {
    return true;
  }
  if (are_one_threads(codec, plan, keys, num_keys, num_threads)) {
    argsort_small(codec, keys, indices, index_bytes, num_keys);
    return true;
  }
  kept_team& shared = kept_pair_team();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  const std::uint64_t num_spare = std::max(num_keys, plan.num_spare());
  const std::uint64_t keys_bytes = pages(num_spare * codec.width_bytes());
  workers& team = shared.prepare(num_threads, num_ready_for(num_keys, num_threads),
                                 2 * keys_bytes + pages(num_spare * index_bytes));
  std::byte* const memory = shared.memory();
  const shared_call call{team,
                         {codec, static_cast<unsigned>(index_bytes)},
                         {memory + keys_bytes, indices},
                         {memory, memory + 2 * keys_bytes},
                         num_keys,
                         plan};
  return with_keys_and_indices(codec, keys, indices, index_bytes, [&](const auto* first, auto* to) {
    argsort_with(call, first, to);
    return true;
  });
}

}  // namespace spansort::device::host

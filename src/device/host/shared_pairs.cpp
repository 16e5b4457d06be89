// SPDX-License-Identifier: Apache-2.0
#include "device/host/shared_pairs.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <type_traits>
#include <vector>

#include "base/math.hpp"
#include "device/host/heavy_sample.hpp"
#include "device/host/misplaced_keys.hpp"
#include "device/host/move_records.hpp"
#include "device/host/ordered_runs.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/parked_threads.hpp"
#include "device/host/primitives.hpp"
#include "device/host/record_dispatch.hpp"
#include "device/host/scratch.hpp"
#include "device/host/selected_parts.hpp"
#include "device/host/small_pairs.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/workers.hpp"
#include "device/host/write_positions.hpp"
#include "keys/dispatch.hpp"

namespace spansort::device::host {
namespace {

constexpr std::uint64_t page_bytes = 4096;

/// The threads and the memory of one call at a time: whoever comes first has them.
class kept_team {
 public:
  /// Returns the threads, so many of them ready, and sees to memory of the given size. A call with fewer threads than
  /// an earlier one uses the first of that one's: 16 threads took 290 to 470 us to be made anew.
  workers& prepare(unsigned num_threads, unsigned num_ready, std::uint64_t memory_bytes) {
    if (team_ == nullptr || team_->most_threads() < num_threads) {
      team_.reset();
      team_ = std::make_unique<workers>(num_threads, helpers_);
    }
    team_->use_threads(num_threads);
    team_->prepare_scratch(num_ready);
    if (memory_bytes > memory_bytes_) {
      memory_.reset();
      memory_bytes_ = 0;
      memory_ = make_aligned<std::byte>(memory_bytes);
      memory_bytes_ = memory_bytes;
    }
    return *team_;
  }
  void release() noexcept {
    if (team_ != nullptr) team_->release_scratch();
    memory_.reset();
    memory_bytes_ = 0;
  }
  [[nodiscard]] workers& team() const { return *team_; }
  [[nodiscard]] std::byte* memory() const { return memory_.get(); }

  std::mutex in_use;

 private:
  parked_threads helpers_;
  std::unique_ptr<workers> team_;
  aligned_array<std::byte> memory_;
  std::uint64_t memory_bytes_ = 0;
};

/// Lives as long as the helpers do.
kept_team& process_wide() {
  static auto* const one = new kept_team;
  return *one;
}

/// Records of the caller or of the memory, and those beside them, which have room for what the plan says, too.
struct shared_call {
  workers& team;
  record_shape shape;
  records source;
  records alternate;
  std::uint64_t num_keys = 0;
  part_plan plan = {};
};

/// Returns up to how many pairs one of so many threads sorts alone where they are not sorted in parts.
std::uint64_t most_alone(unsigned num_threads) {
  return num_threads < many_pair_threads ? most_small_pairs : most_pairs_alone_of_two;
}

/// Returns whether one of so many threads finds out that few keys are in order before the others are awake.
bool may_settle_alone(std::uint64_t num_keys, unsigned num_threads) {
  return num_threads >= many_pair_threads && num_keys <= most_alone(num_threads);
}

/// Returns how many threads have to be ready for a look at the keys: few keys are looked at by the caller.
unsigned num_ready_for(std::uint64_t num_keys, unsigned num_threads) {
  return num_keys <= most_small_pairs ? 1 : num_threads;
}

/// Returns how many keys a piece of a look at the keys has at least: few are looked at by the caller.
std::uint64_t look_piece_keys(std::uint64_t num_keys, unsigned num_threads) {
  return num_threads < many_pair_threads && num_keys <= most_small_pairs ? num_keys : sort_limits{}.piece_keys;
}

/// Returns whether one of so many threads has done with few keys before others have come: those that are mostly a few
/// keys, those that are not sorted in parts, and, where many threads would be woken, those in order but for a tail.
bool are_one_threads(const keys::key_codec& codec, const part_plan& plan, const void* keys, std::uint64_t num_keys,
                     unsigned num_threads) {
  if (num_keys > most_small_pairs) return false;
  if (plan.num_parts == 0 && num_keys <= most_alone(num_threads)) return true;
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* const first = static_cast<const K*>(keys);
    const auto of_width = codec.of<K>();
    if (may_settle_alone(num_keys, num_threads) && look_at_first(of_width, first, num_keys).ascending &&
        ordered_front(of_width, first, num_keys) != 0) {
      return true;
    }
    if constexpr (sizeof(K) >= 4) {
      const frequent_keys<K> frequent = sample_frequent(first, num_keys);
      return frequent.are_all() || (frequent.are_heavy() && num_keys <= most_alone(num_threads));
    }
    return false;
  });
}

/// Sorts pairs of `from` into the source in parts; null values stand for positions. Returns false, with nothing
/// written to the source, where they are sorted some other way.
bool sort_in_parts(const shared_call& call, const records& from) {
  if (call.plan.num_parts == 0) return false;
  return keys::with_width(call.shape.codec.width_bytes(), [&]<class K>() {
    return with_value(call.shape.value_bytes, [&]<class V>() {
      if constexpr (sizeof(K) >= 4 && (value_bytes_of<V> == 4 || value_bytes_of<V> == 8)) {
        call.team.prepare_scratch(static_cast<unsigned>(call.plan.num_threads));
        return part_sorter<K, V>(call.team, call.shape.codec, call.plan)
            .sort(split<K, V>(from), split<K, V>(call.source), split<K, V>(call.alternate), call.num_keys);
      }
      return false;
    });
  });
}

void sort_with(const shared_call& call) {
  call.team.prepare_scratch();
  const unsigned key_bits = call.shape.codec.key_bits();
  const local_sort_request request{
      .shape = call.shape,
      .source = call.source,
      .alternate = call.alternate,
      .segments = {{0, call.num_keys, {0, key_bits}}},
  };
  keys::with_width(call.shape.codec.width_bytes(), [&]<class K>() {
    const sort_limits limits{.word_inline_keys = most_alone(call.team.num_threads())};
    run_local_sort<K>(execution{call.team, limits, nullptr}, request);
  });
}

/// Sorts misplaced keys and where they come from.
template <class K>
auto sort_with_origins(const shared_call& call) {
  return [&call](split_records<K, value4> misplaced, split_records<K, value4> spare, std::uint64_t count) {
    const keys::key_codec& codec = call.shape.codec;
    if (count <= most_small_pairs) return sort_small_pairs(codec, misplaced.keys, misplaced.values, 4, count);
    sort_with({call.team, {codec, 4}, {misplaced.keys, misplaced.values}, {spare.keys, spare.values}, count});
  };
}

/// Returns the memory beside the records.
std::span<std::byte> spare_memory(const shared_call& call) {
  if (call.alternate.keys == nullptr) return {};
  return {static_cast<std::byte*>(call.alternate.keys), call.num_keys * call.shape.codec.width_bytes()};
}

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

/// Sorts a copy of the keys, and their positions with them. Those of narrow keys travel as 32 bits, to move
/// fewer bytes.
template <class K, class V>
void sort_copy(const shared_call& call, const piece_list& pieces, const K* keys, V* indices) {
  if (argsort_nearly_ordered(call, keys, indices)) return;
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

/// Returns the runs of keys of which the first ones ascend.
template <class K, class V>
ordered_runs find_few_runs(workers& team, const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys) {
  const in_pieces each{team, look_piece_keys(num_keys, team.num_threads())};
  return find_runs(each, codec, keys, num_keys, most_runs_to_merge<K, V>(codec, num_keys, team.num_threads()));
}

/// One thread moves the blocks between the records of a tail of so few bytes in less time than many merge. On 16
/// threads of an Emerald Rapids 2^16 u32(u32) with a tail of one in a hundred took 38 us moved and 75 merged, 2^17 187
/// and 119, 2^16 u64(u64) 140 and 118.
constexpr std::uint64_t few_tail_bytes = std::uint64_t{1} << 13;

/// Returns whether a device sorts a long run and its tail: it merges both on all threads. One thread that sorts all of
/// fewer keys alone takes longer than the threads that sort a part each.
bool goes_to_a_device(const shared_call& call, std::uint64_t num_tail) {
  return call.num_keys > most_alone(call.team.num_threads()) && is_worth_a_merge(num_tail, call.num_keys);
}

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

template <class K, class V>
void argsort_with(const shared_call& call, const K* keys, V* indices) {
  const auto codec = call.shape.codec.of<K>();
  const piece_list pieces = cut_into_pieces(call.num_keys, call.team.num_threads(), sort_limits{}.piece_keys);
  const order_flags first = look_at_first(codec, keys, call.num_keys);
  if (!first.ascending) {
    if (first.strictly_descending && find_order(call.team, codec, pieces, keys).strictly_descending) {
      return write_all_positions(call.team, pieces, indices, call.num_keys, true);
    }
    return sort_copy<K>(call, pieces, keys, indices);
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
        merge_tail_order(Order(codec), keys, front, call.num_keys, static_cast<const V*>(tail), indices);
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
  shared_call as_a_device = call;
  if (goes_to_a_device(call, num_tail)) as_a_device.plan = {};
  sort_copy<K>(as_a_device, pieces, keys, indices);
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
          if (!runs.are_few() && goes_to_a_device(call, num_tail)) {
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

/// Bytes of an array that ends on a page.
std::uint64_t pages(std::uint64_t size_bytes) { return base::round_up(size_bytes, page_bytes); }

}  // namespace

std::uint64_t shared_pairs_bytes(std::uint64_t data_bytes, unsigned num_threads) {
  // Each of up to three arrays has spare pairs, less than a page of them, and ends on a page. Few pairs have more room.
  constexpr std::uint64_t small_bytes = most_small_pairs * 24;
  return data_bytes + std::max(data_bytes / 4, std::min(data_bytes / 2, small_bytes / 2)) + 6 * page_bytes +
         std::min(num_threads, most_shared_pairs_threads) * worker_scratch::size_bytes;
}

void release_shared_pairs() noexcept {
  kept_team& shared = process_wide();
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
  kept_team& shared = process_wide();
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
  kept_team& shared = process_wide();
  const std::unique_lock lock(shared.in_use, std::try_to_lock);
  if (!lock.owns_lock()) return false;
  num_threads = std::min(num_threads, most_shared_pairs_threads);
  workers& team = shared.prepare(num_threads, num_threads, pages(num_keys * codec.width_bytes()));
  sort_with({team, {codec, 0}, {keys, nullptr}, {shared.memory(), nullptr}, num_keys});
  return true;
}

bool argsort_nearly_ordered_shared(const keys::key_codec& codec, const void* keys, void* indices,
                                   std::uint64_t index_bytes, std::uint64_t num_keys, unsigned num_threads) {
  return keys::with_width(codec.width_bytes(), [&]<class K>() {
    const auto* const first = static_cast<const K*>(keys);
    if (sizeof(K) < 4 || !may_be_nearly_ordered(codec.of<K>(), first, num_keys)) return false;
    kept_team& shared = process_wide();
    const std::unique_lock lock(shared.in_use, std::try_to_lock);
    if (!lock.owns_lock()) return false;
    num_threads = std::min(num_threads, most_shared_pairs_threads);
    const shared_call call{
        shared.prepare(num_threads, num_threads, 0), {codec, static_cast<unsigned>(index_bytes)}, {}, {}, num_keys};
    if (index_bytes == 4) return argsort_nearly_ordered(call, first, static_cast<value4*>(indices));
    return argsort_nearly_ordered(call, first, static_cast<value8*>(indices));
  });
}

template <class K>
bool merge_shared_runs(const keys::codec_of<K>& codec, K* keys, std::uint64_t num_keys, unsigned num_threads,
                       const tail_sort<K>& sort_tail) {
  const unsigned most = most_runs_to_merge<K, no_value>(codec, num_keys, num_threads);
  // Memory is not taken for what turns out to be many short runs.
  const std::uint64_t long_run = std::max<std::uint64_t>(num_keys / 16, 4096);
  if (most < 2 || num_keys < long_run || !scan_order(codec, keys, long_run).ascending) return false;
  kept_team& shared = process_wide();
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
  kept_team& shared = process_wide();
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
  keys::with_width(codec.width_bytes(), [&]<class K>() {
    with_value(static_cast<unsigned>(index_bytes), [&]<class V>() {
      if constexpr (value_bytes_of<V> == 4 || value_bytes_of<V> == 8) {
        argsort_with(call, static_cast<const K*>(keys), static_cast<V*>(indices));
      }
    });
  });
  return true;
}

}  // namespace spansort::device::host

// SPDX-License-Identifier: Apache-2.0
// Inputs of a few ascending runs, as arrays are to which sorted ones have been appended. Neighbouring runs are merged:
// in place each record is moved twice, or not at all where two runs do not cross, and as often by a sort, but there
// in no order, and by many more instructions.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "device/host/merge_neighbours.hpp"
#include "device/host/misplaced_finder.hpp"
#include "device/host/ordered_tail.hpp"
#include "device/host/records.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/vector_kernels.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// More runs would take a third pass over the records.
inline constexpr unsigned most_ordered_runs = 4;
/// Runs of an input are counted up to so many.
inline constexpr unsigned most_counted_runs = 64;

/// Returns up to how many runs of an input take less time to be merged than to be sorted. Measured on one and two
/// threads of a Zen 4, ns a record, merged and sorted: two runs of u32 2^10 2.0 and 1.4, 2^12 1.5 and 1.6, of f32 2^12
/// 2.0 and 1.7, 2^14 2.0 and 2.2; four of u32 2^16 2.6 and 2.1 to 2.4, 2^18 1.5 and 1.9 on two threads, of f32 2^18 2.1
/// and 1.6, 2^22 1.9 and 2.1, of f64 2^14 3.9 and 2.6, 2^16 3.8 and 4.4, of u64 2^10 3.1 and 2.9, 2^12 2.8 and 3.9, of
/// u32(u32) 2^10 3.6 and 2.2, 2^12 3.2 and 3.4. A step of a merge encodes two keys, which takes floats longer. On one
/// thread of an Emerald Rapids four runs of f32 2^20 take 4.1 and 3.5, 2^22 4.2 and 3.8, of u32 2^18 4.3 and 3.8, 2^20
/// 3.2 and 3.2, 2^22 3.3 and 3.7; where many threads share a sort, merges gain sooner.
template <class K, class V>
[[nodiscard]] constexpr unsigned most_runs_to_merge(const keys::codec_of<K>& codec, std::uint64_t num_keys,
                                                    unsigned num_threads) noexcept {
  constexpr unsigned many_threads = 4;
  const bool are_floats = codec.to_negative != 0;
  unsigned bits_of_two = 10;
  unsigned bits_of_four = 12;
  if (value_bytes_of<V> == 0) {
    bits_of_two = sizeof(K) == 8 ? 10 : are_floats ? 14 : 12;
    bits_of_four = sizeof(K) == 8 ? (are_floats ? 16 : 12) : are_floats ? 20 : 18;
    if (sizeof(K) == 4 && num_threads < many_threads) bits_of_four += 2;
  }
  if (num_keys >> bits_of_four != 0) return most_ordered_runs;
  return num_keys >> bits_of_two != 0 ? 2 : 1;
}

/// Ascending runs that make up an input, one behind the other.
struct ordered_runs {
  unsigned count = 0;     ///< 0: there are too many
  unsigned num_runs = 0;  ///< how many there are; 0: more than were to be counted
  std::array<std::uint64_t, most_ordered_runs + 1> begins = {};  ///< and the end
  std::uint64_t first_end = 0;                                   ///< of the first one, however many there are

  [[nodiscard]] bool are_few() const noexcept { return count != 0; }
  [[nodiscard]] std::span<const std::uint64_t> ends() const noexcept { return std::span(begins).subspan(1, count); }
  void append(std::uint64_t end) noexcept { begins[++count] = end; }
};

/// Calls work(piece) for a whole input, on the calling thread.
struct as_one_piece {
  template <class Work>
  void operator()(std::uint64_t num_records, const Work& work) const {
    work(piece{0, num_records});
  }
};

/// Calls work(piece) for all pieces of an input, on all threads.
struct in_pieces {
  workers& team;
  std::uint64_t piece_keys;

  template <class Work>
  void operator()(std::uint64_t num_records, const Work& work) const {
    const piece_list pieces = cut_into_pieces(num_records, team.num_threads(), piece_keys);
    team.for_each(pieces.size(), [&](std::uint64_t p) { work(pieces[p]); });
  }
};

/// Lowers a number that threads share to `value` where it is greater.
inline void lower_to(std::atomic<std::uint64_t>& number, std::uint64_t value) {
  std::uint64_t before = number.load(std::memory_order_relaxed);
  while (value < before && !number.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
  }
}

/// How many ends of runs there are but for that of the last one, and where the first one ends.
struct run_ends {
  std::uint64_t count = 0;
  std::uint64_t first = 0;
};

/// Writes where runs end, but for the last one, in any order. Where there are as many as there is room for, or where
/// the first eight of a piece are a few keys each, it counts no further, says that there are no fewer, has read little
/// else than the first run, and has written some of them. Each: as_one_piece or in_pieces.
template <class Each, class K>
[[nodiscard]] run_ends find_run_ends(const Each& each, const keys::codec_of<K>& codec, const K* keys,
                                     std::uint64_t num_keys, std::span<std::uint64_t> ends) {
  std::atomic<std::uint64_t> num_ends{0};
  std::atomic<std::uint64_t> first_end{num_keys};
  constexpr std::uint64_t crowd = 8;
  constexpr std::uint64_t keys_of_crowd = 512;
  each(num_keys, [&](const piece& part) {
    const std::uint64_t part_end = std::min(part.begin + part.count + 1, num_keys);  // with the right neighbour
    std::uint64_t begin = part.begin;
    std::uint64_t first_here = num_keys;
    std::uint64_t num_here = 0;
    while (num_ends.load(std::memory_order_relaxed) < ends.size() ||
           begin < first_end.load(std::memory_order_relaxed)) {
      const std::uint64_t descent = begin + find_descent(codec, keys + begin, part_end - begin);
      if (descent >= part_end) return;
      begin = descent + 1;
      lower_to(first_end, begin);
      const std::uint64_t place = num_ends.fetch_add(1, std::memory_order_relaxed);
      if (place < ends.size()) ends[place] = begin;
      first_here = std::min(first_here, begin);
      if (++num_here == crowd && begin - first_here < keys_of_crowd) {
        num_ends.fetch_add(ends.size(), std::memory_order_relaxed);
      }
    }
  });
  return {num_ends, first_end};
}

/// Returns the runs of keys. Where there are more than `most_runs` it returns none but the end of the first one, and
/// how many there are, up to `most_counted`. Each: as_one_piece or in_pieces.
template <class Each, class K>
[[nodiscard]] ordered_runs find_runs(const Each& each, const keys::codec_of<K>& codec, const K* keys,
                                     std::uint64_t num_keys, unsigned most_runs, unsigned most_counted = 0) {
  std::array<std::uint64_t, most_counted_runs> room;
  const auto ends = std::span(room).first(std::max(most_runs, most_counted));
  std::ranges::fill(ends, num_keys);
  const run_ends found = find_run_ends(each, codec, keys, num_keys, ends);
  ordered_runs runs;
  runs.first_end = found.first;
  if (found.count >= ends.size()) return runs;
  runs.num_runs = static_cast<unsigned>(found.count) + 1;
  if (found.count >= most_runs) return runs;
  std::ranges::sort(ends);
  for (std::uint64_t i = 0; i <= found.count; ++i) runs.append(ends[i]);
  return runs;
}

/// Returns whether more than two runs are rather two keys or three that lie elsewhere than in their places: others are
/// left where they are around these (misplaced_keys.hpp).
template <class K>
[[nodiscard]] bool are_misplaced_keys(const keys::codec_of<K>& codec, const K* keys, std::uint64_t num_keys,
                                      const ordered_runs& runs) {
  return runs.count > 2 && !is_short_tail(num_keys - runs.first_end, num_keys) &&
         may_be_nearly_ordered(codec, keys, num_keys);
}

/// Merges the runs of one input. Each: as_one_piece, in_pieces, or what calls like these. Stable.
template <class K, class V, class Order, class Each>
class run_merger {
 public:
  using split = split_records<K, V>;

  run_merger(const Order& order, const Each& each) : order_(order), each_(each) {}

  /// Merges the runs of `source`. The result is there or in `alternate`, which is overwritten. Calls may_overwrite()
  /// before anything of the source is overwritten. Returns how often all records have been moved at most.
  template <class Before>
  unsigned merge(split source, split alternate, split result, ordered_runs runs, const Before& may_overwrite) const {
    const std::uint64_t num_records = runs.begins[runs.count];
    if (runs.count == 2 && result.keys == source.keys) {
      const run_span crossed = crossed_by(source, runs);
      merge_interval(source, alternate, runs, crossed);
      may_overwrite();
      copy(alternate, source, crossed);
      return 2;
    }
    unsigned moves = 0;
    for (; runs.count > 1; ++moves) {
      if (moves == 1) may_overwrite();
      merge_level<merge_form::records>(source, alternate, runs);
      std::swap(source, alternate);
    }
    if (source.keys == result.keys) return moves;
    if (moves == 1) may_overwrite();
    copy(source, result, {0, num_records});
    return moves + 1;
  }

  /// Writes the order of keys that have such runs. `spare` has room for records, and is used for more than two.
  void order(const K* keys, split spare, V* indices, ordered_runs runs) const {
    const split of_keys{const_cast<K*>(keys), nullptr};
    if (runs.count == 2) return merge_level<merge_form::keys_to_indices>(of_keys, {nullptr, indices}, runs);
    merge_level<merge_form::keys_to_records>(of_keys, spare, runs);
    merge_level<merge_form::records_to_values>(spare, {nullptr, indices}, runs);
  }

 private:
  /// Merges pairs of neighbouring runs, and moves one that is alone. `runs` are those of the result then.
  template <merge_form Form>
  void merge_level(split from, split to, ordered_runs& runs) const {
    ordered_runs merged;
    for (unsigned left = 0; left < runs.count; left += 2) {
      const unsigned right = std::min(left + 1, runs.count);
      const unsigned end = std::min(left + 2, runs.count);
      merge_two<Form>(from, to,
                      {runs.begins[left], runs.begins[right], runs.begins[right], runs.begins[end], runs.begins[left]});
      merged.append(runs.begins[end]);
    }
    runs = merged;
  }

  template <merge_form Form>
  void merge_two(split from, split to, const merge_stretch& runs) const {
    each_(runs.size(),
          [&](const piece& part) { merge_neighbours<Form>(order_, from, cut_stretch(order_, from, runs, part), to); });
  }

  /// Returns the part of two runs that is not in its place: records of the left one that are above any of the right,
  /// and those of the right one that are below any of the left.
  [[nodiscard]] run_span crossed_by(split source, const ordered_runs& runs) const {
    const std::uint64_t middle = runs.begins[1];
    const auto is_below = [&](K a, K b) { return order_.encode(a) < order_.encode(b); };
    const K* const keys = source.keys;
    const K* const begin = std::upper_bound(keys, keys + middle, keys[middle], is_below);
    const K* const end = std::lower_bound(keys + middle, keys + runs.begins[2], keys[middle - 1], is_below);
    return {static_cast<std::uint64_t>(begin - keys), static_cast<std::uint64_t>(end - keys)};
  }

  void merge_interval(split from, split to, const ordered_runs& runs, const run_span& of) const {
    merge_two<merge_form::records>(from, to, {of.begin, runs.begins[1], runs.begins[1], of.end, of.begin});
  }

  void copy(split from, split to, const run_span& of) const {
    each_(of.end - of.begin, [&](const piece& part) {
      const split first = from + (of.begin + part.begin);
      const split place = to + (of.begin + part.begin);
      std::copy_n(first.keys, part.count, place.keys);
      if constexpr (value_bytes_of<V> != 0) std::copy_n(first.values, part.count, place.values);
    });
  }

  const Order order_;
  const Each each_;
};

/// This is for integers, of which at most the sign is flipped, or all bits. A step of a merge encodes two keys.
template <class K>
struct flipping_order {
  K flipped = 0;
  [[nodiscard]] K encode(K x) const noexcept { return x ^ flipped; }
};

/// This is for floats of which none is NaN and whose zeros tie: their signed magnitudes, which both zeros have as 0.
/// Folding and encoding take twice as many instructions.
template <class K>
struct magnitude_order {
  using number = std::make_signed_t<K>;
  K magnitude_mask = 0;
  K descends = 0;  ///< all bits, or none
  [[nodiscard]] number encode(K x) const noexcept {
    const K sign = static_cast<K>(keys::codec_of<K>::spread_sign(x) ^ descends);
    return static_cast<number>(((x & magnitude_mask) ^ sign) - sign);
  }
};

/// This is for floats of which none is NaN and whose zeros are told apart: their bits as signed numbers, of which those
/// below a sign that is set are flipped. Encoding takes twice as many instructions.
template <class K>
struct signed_bits_order {
  using number = std::make_signed_t<K>;
  K magnitude_mask = 0;
  K descends = 0;  ///< all bits, or none
  [[nodiscard]] number encode(K x) const noexcept {
    return static_cast<number>(x ^ (keys::codec_of<K>::spread_sign(x) & magnitude_mask) ^ descends);
  }
};

/// Returns whether any key of runs with these ends is NaN: NaNs are last in all orders.
template <class K>
[[nodiscard]] bool has_nan(const keys::codec_of<K>& codec, const K* keys, std::span<const std::uint64_t> ends) {
  if (codec.only_flips()) return false;
  return std::ranges::any_of(
      ends, [&](std::uint64_t end) { return (keys[end - 1] & codec.magnitude_mask) > codec.infinity; });
}

/// Calls f(order) with the cheapest order for a merge of floats whose zeros tie, among which NaN is there or not.
template <class K, class F>
decltype(auto) with_folding_order_of_merge(const keys::codec_of<K>& codec, bool nan_is_there, F&& f) {
  if (nan_is_there) return f(folding_order<K>(codec));
  // Ascending, the encoding of a key whose sign is clear has its highest bit set.
  const K descends = keys::codec_of<K>::spread_sign(codec.to_positive) == 0 ? static_cast<K>(~K{0}) : K{0};
  return f(magnitude_order<K>{codec.magnitude_mask, descends});
}

/// Calls f(order) with the cheapest order for a merge of other keys, or of floats whose zeros are told apart.
template <class K, class F>
decltype(auto) with_bijective_order_of_merge(const keys::codec_of<K>& codec, bool nan_is_there, F&& f) {
  if (codec.only_flips()) return f(flipping_order<K>{codec.to_positive});
  // Ascending, the encoding of a key whose sign is clear has its highest bit set.
  const K descends = keys::codec_of<K>::spread_sign(codec.to_positive) == 0 ? static_cast<K>(~K{0}) : K{0};
  if (nan_is_there) return f(bijective_order<K>(codec));
  return f(signed_bits_order<K>{codec.magnitude_mask, descends});
}

/// Calls f(order) with the cheapest order for a merge.
template <class K, class F>
decltype(auto) with_order_of_merge(const keys::codec_of<K>& codec, bool nan_is_there, F&& f) {
  if (codec.folds_ties) return with_folding_order_of_merge(codec, nan_is_there, f);
  return with_bijective_order_of_merge(codec, nan_is_there, f);
}

/// run_merger::merge() by the order of a codec.
template <class K, class V, class Each, class Before>
unsigned merge_runs(const keys::codec_of<K>& codec, const Each& each, split_records<K, V> source,
                    split_records<K, V> alternate, split_records<K, V> result, const ordered_runs& runs,
                    const Before& may_overwrite) {
  const bool nan_is_there = has_nan(codec, source.keys, runs.ends());
  return with_order_of_merge(codec, nan_is_there, [&]<class Order>(const Order& order) {
    return run_merger<K, V, Order, Each>(order, each).merge(source, alternate, result, runs, may_overwrite);
  });
}

/// run_merger::order() by the order of a codec.
template <class K, class V, class Each>
void order_runs(const keys::codec_of<K>& codec, const Each& each, const K* keys, split_records<K, V> spare, V* indices,
                const ordered_runs& runs) {
  with_order_of_merge(codec, has_nan(codec, keys, runs.ends()), [&]<class Order>(const Order& order) {
    run_merger<K, V, Order, Each>(order, each).order(keys, spare, indices, runs);
  });
}

/// Merges records of a few runs on the calling thread, in place. `spare` has room for all. Returns false, with nothing
/// written, where there are others.
template <class K, class V>
bool merge_runs_alone(const keys::codec_of<K>& codec, split_records<K, V> records, split_records<K, V> spare,
                      std::uint64_t num_records) {
  const unsigned most = most_runs_to_merge<K, V>(codec, num_records, 1);
  if (most < 2) return false;
  const ordered_runs runs = find_runs(as_one_piece{}, codec, records.keys, num_records, most);
  if (runs.count < 2 || are_misplaced_keys(codec, records.keys, num_records, runs)) return false;
  merge_runs(codec, as_one_piece{}, records, spare, records, runs, [] {});
  return true;
}

}  // namespace spansort::device::host

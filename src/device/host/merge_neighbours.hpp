// SPDX-License-Identifier: Apache-2.0
// One thread's stable merge of two sorted runs of one array. A step of a merge waits for the comparison before it, so
// that a run of steps takes the latency of each: three stretches of the result are merged at once, whose steps do not
// wait for one another. Merge path cuts them (merge_records.hpp). Measured on a Zen 4, ns a record, one stretch and
// three: u32 and u64 2.2 and 0.8, u32(u32) 2.5 and 1.1; two 1.2 and 1.4; four keep too much in registers for pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "device/host/merge_records.hpp"
#include "device/host/records.hpp"
#include "device/host/write_positions.hpp"

namespace spansort::device::host {

/// Two sorted runs of one array, and where their merge begins in the result.
struct merge_stretch {
  std::uint64_t left = 0;
  std::uint64_t left_end = 0;
  std::uint64_t right = 0;
  std::uint64_t right_end = 0;
  std::uint64_t to = 0;

  [[nodiscard]] std::uint64_t size() const noexcept { return left_end - left + (right_end - right); }
  /// Returns in how many steps no run ends.
  [[nodiscard]] std::uint64_t num_safe_steps() const noexcept { return std::min(left_end - left, right_end - right); }
};

/// This says what is merged: records; keys alone, whose indices are the values of the result, which has keys or has
/// none; or records of which only the values are written.
enum class merge_form : std::uint8_t { records, keys_to_records, keys_to_indices, records_to_values };

/// Returns the part of a stretch that makes up a piece of its merge.
template <class K, class V, class Order>
[[nodiscard]] merge_stretch cut_stretch(const Order& order, split_records<K, V> from, const merge_stretch& all,
                                        const piece& of_merge) {
  const K* const keys = from.keys;
  const sorted_runs<K, no_value> runs{{{const_cast<K*>(keys + all.left), nullptr}, all.left_end - all.left},
                                      {{const_cast<K*>(keys + all.right), nullptr}, all.right_end - all.right}};
  const std::uint64_t end = of_merge.begin + of_merge.count;
  const std::uint64_t left = co_rank(order, runs, of_merge.begin);
  const std::uint64_t left_end = co_rank(order, runs, end);
  return {all.left + left, all.left + left_end, all.right + (of_merge.begin - left), all.right + (end - left_end),
          all.to + of_merge.begin};
}

namespace detail {

constexpr unsigned merged_at_once = 3;

/// The loops of merge_neighbours().
template <merge_form Form, class K, class V, class Order>
class neighbour_merger {
 public:
  using split = split_records<K, V>;

  neighbour_merger(const Order& order, split from, split to) : order_(order), from_(from), to_(to) {}

  /// Merges so many stretches at once, the others when one of their runs has ended.
  template <std::size_t Num>
  void merge(std::array<merge_stretch, Num> stretches) const {
    std::uint64_t num_steps = 0;
    while ((num_steps = least_safe_steps(stretches)) != 0) {
      for (; num_steps != 0; --num_steps) {
#pragma GCC unroll 3
        for (merge_stretch& s : stretches) step(s);
      }
    }
    std::iter_swap(std::ranges::find(stretches, 0U, &merge_stretch::num_safe_steps), stretches.end() - 1);
    write_rest(stretches.back());
    if constexpr (Num > 1) {
      std::array<merge_stretch, Num - 1> others;
      std::copy_n(stretches.begin(), Num - 1, others.begin());
      merge(others);
    }
  }

 private:
  static constexpr bool makes_indices = Form == merge_form::keys_to_records || Form == merge_form::keys_to_indices;
  static constexpr bool writes_keys = Form == merge_form::records || Form == merge_form::keys_to_records;
  static constexpr bool has_values = value_bytes_of<V> != 0;

  template <std::size_t Num>
  [[nodiscard]] static std::uint64_t least_safe_steps(const std::array<merge_stretch, Num>& stretches) {
    std::uint64_t least = stretches[0].num_safe_steps();
    for (const merge_stretch& s : stretches) least = std::min(least, s.num_safe_steps());
    return least;
  }

  /// Moves one record. Which run it is from is not to be foreseen: where the compiler made a branch of it a step took
  /// five times as long.
  [[gnu::always_inline]] void step(merge_stretch& s) const {
    const K left_key = from_.keys[s.left];
    const K right_key = from_.keys[s.right];
    std::uint64_t right_taken = order_.encode(right_key) < order_.encode(left_key) ? 1 : 0;
    asm("" : "+r"(right_taken));  // the compiler does not know that it is one of two numbers
    const std::uint64_t mask = 0 - right_taken;
    if constexpr (has_values) {
      const std::uint64_t taken = s.left ^ ((s.left ^ s.right) & mask);
      if constexpr (makes_indices) {
        to_.values[s.to].word = static_cast<decltype(to_.values->word)>(taken);
      } else {
        to_.values[s.to] = from_.values[taken];
      }
    }
    if constexpr (writes_keys) {
      to_.keys[s.to] = static_cast<K>(left_key ^ ((left_key ^ right_key) & static_cast<K>(mask)));
    }
    s.right += right_taken;
    s.left += 1 - right_taken;
    ++s.to;
  }

  /// One of the runs has ended.
  void write_rest(const merge_stretch& s) const {
    const std::uint64_t begin = s.left == s.left_end ? s.right : s.left;
    const std::uint64_t count = s.size();
    if constexpr (writes_keys) std::copy_n(from_.keys + begin, count, to_.keys + s.to);
    if constexpr (makes_indices) {
      write_positions(to_.values + s.to, count, begin);
    } else if constexpr (has_values) {
      std::copy_n(from_.values + begin, count, to_.values + s.to);
    }
  }

  const Order order_;
  const split from_;
  const split to_;
};

}  // namespace detail

/// Merges two runs of `from` into `to`, which does not overlap them.
template <merge_form Form, class K, class V, class Order>
void merge_neighbours(const Order& order, split_records<K, V> from, const merge_stretch& all, split_records<K, V> to) {
  const detail::neighbour_merger<Form, K, V, Order> merger(order, from, to);
  constexpr std::uint64_t worth_a_cut = 64;
  if (all.size() < worth_a_cut) return merger.merge(std::array<merge_stretch, 1>{all});
  std::array<merge_stretch, detail::merged_at_once> stretches;
  merge_stretch rest = all;
  for (std::uint64_t left = stretches.size(); left > 1; --left) {
    merge_stretch& next = stretches[stretches.size() - left];
    next = cut_stretch(order, from, rest, {0, rest.size() / left});
    rest = {next.left_end, all.left_end, next.right_end, all.right_end, next.to + next.size()};
  }
  stretches.back() = rest;
  merger.merge(stretches);
}

}  // namespace spansort::device::host

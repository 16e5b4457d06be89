// SPDX-License-Identifier: Apache-2.0
// Counts of keys that share all but some low bits. A table for each piece would be read in steps of its size, which all
// fall into the same few lines of a cache: 2^16 values of 64 pieces took 30 ms that way. So each thread counts in a
// table of its own, and all threads add the tables up, each some of the values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "device/host/scratch.hpp"
#include "device/host/sort_level.hpp"
#include "device/host/workers.hpp"

namespace spansort::device::host {

/// Keys that differ in so many low bits at most are counted: a thread's tables fit its scratch.
inline constexpr unsigned most_value_bits = 16;

/// The counters of one thread. C is std::uint32_t where fewer keys than 2^32 are counted, which leaves room for two
/// tables: neighbours that are equal would wait for each other in one.
template <class C>
class value_table {
 public:
  value_table() = default;
  /// Empties the tables, which lie in the scratch until the thread sorts.
  value_table(worker_scratch& scratch, std::uint64_t num_values)
      : counts_(reinterpret_cast<C*>(scratch.words.get())), num_values_(num_values) {
    static_assert(num_tables * sizeof(C) << most_value_bits <= max_words * sizeof(std::uint64_t));
    std::fill_n(counts_, num_tables * num_values_, C{0});
  }
  [[nodiscard]] bool is_used() const noexcept { return counts_ != nullptr; }

  /// Adds the low bits of encoded keys, of which there are num_values.
  template <class K, class Order>
  void add(const Order& outer_order, const K* __restrict keys, std::uint64_t num_keys) const {
    constexpr unsigned together = 8;
    const Order order = outer_order;  // a copy stays in registers
    const K mask = static_cast<K>(num_values_ - 1);
    C* const counts = counts_;
    std::uint64_t i = 0;
    for (; i + together <= num_keys; i += together) {
      K values[together];
      for (unsigned j = 0; j < together; ++j) values[j] = static_cast<K>(order.encode(keys[i + j]) & mask);
      for (unsigned j = 0; j < together; ++j) ++counts[j % num_tables * num_values_ + values[j]];
    }
    for (; i < num_keys; ++i) ++counts[static_cast<K>(order.encode(keys[i]) & mask)];
  }

  /// Adds the counts of some values to sums.
  void add_to(std::uint64_t* __restrict sums, std::uint64_t first_value, std::uint64_t num_values) const {
    for (unsigned t = 0; t < num_tables; ++t) {
      const C* const counts = counts_ + t * num_values_ + first_value;
      for (std::uint64_t v = 0; v < num_values; ++v) sums[v] += counts[v];
    }
  }

 private:
  static constexpr unsigned num_tables = sizeof(C) == 4 ? 2 : 1;
  C* counts_ = nullptr;
  std::uint64_t num_values_ = 0;
};

/// Turns the counts of values into where the keys of each end.
template <class C>
[[nodiscard]] std::vector<std::uint64_t> add_up(workers& team, const std::vector<value_table<C>>& tables,
                                                std::uint64_t num_values) {
  constexpr std::uint64_t values_a_task = 4096;
  const piece_list ranges(num_values, std::max<std::uint64_t>(1, num_values / values_a_task));
  std::vector<std::uint64_t> ends(num_values, 0);
  std::vector<std::uint64_t> begins(ranges.size(), 0);  // of the keys of each range
  team.for_each(ranges.size(), [&](std::uint64_t r) {
    std::uint64_t* const of_range = ends.data() + ranges[r].begin;
    for (const value_table<C>& table : tables) {
      if (table.is_used()) table.add_to(of_range, ranges[r].begin, ranges[r].count);
    }
    std::uint64_t end = 0;
    for (std::uint64_t v = 0; v < ranges[r].count; ++v) of_range[v] = end += of_range[v];
    begins[r] = end;
  });
  std::uint64_t begin = 0;
  for (std::uint64_t& of_range : begins) begin += std::exchange(of_range, begin);
  team.for_each(ranges.size(), [&](std::uint64_t r) {
    std::uint64_t* const of_range = ends.data() + ranges[r].begin;
    for (std::uint64_t v = 0; v < ranges[r].count; ++v) of_range[v] += begins[r];
  });
  return ends;
}

/// Returns where the keys of each value of the low `bits` bits end in the sorted whole. Uses the scratch of all
/// threads.
template <class C, class K, class Order>
[[nodiscard]] std::vector<std::uint64_t> count_value_ends(workers& team, const Order& order, const K* keys,
                                                          const piece_list& pieces, unsigned bits) {
  const std::uint64_t num_values = std::uint64_t{1} << bits;
  std::vector<value_table<C>> tables(team.num_threads());
  team.for_each(pieces.size(), [&](std::uint64_t i, worker_scratch& scratch, std::size_t thread) {
    value_table<C>& own = tables[thread];
    if (!own.is_used()) own = value_table<C>(scratch, num_values);
    own.add(order, keys + pieces[i].begin, pieces[i].count);
  });
  return add_up(team, tables, num_values);
}

}  // namespace spansort::device::host

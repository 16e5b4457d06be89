// SPDX-License-Identifier: Apache-2.0
// NaT, the least number, belongs behind all others: what is sorted as integers is turned round where it stands first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <spansort/types.hpp>

#include "arrays.hpp"

namespace python {

/// Returns how many of the sorted keys are NaT and stand at their begin.
inline std::uint64_t leading_nats(const array_keys& keys, spansort::key_span sorted, spansort::direction d) {
  if (!keys.has_nat || d == spansort::direction::descending) return 0;
  const auto* const first = static_cast<const std::int64_t*>(sorted.data);
  return static_cast<std::uint64_t>(
      std::upper_bound(first, first + sorted.num_keys, std::numeric_limits<std::int64_t>::min()) - first);
}

/// Moves the first `count` of the elements behind the others, which stay in order as they do.
inline void move_to_end(void* elements, std::uint64_t num_elements, std::uint64_t element_bytes, std::uint64_t count) {
  if (count == 0 || count == num_elements) return;
  auto* const first = static_cast<char*>(elements);
  std::rotate(first, first + count * element_bytes, first + num_elements * element_bytes);
}

inline void put_nat_last(const array_keys& keys, spansort::key_span sorted, spansort::direction d) {
  if (keys.has_nat) move_to_end(sorted.data, sorted.num_keys, sizeof(std::int64_t), leading_nats(keys, sorted, d));
}

/// Moves the positions of NaT behind the others. The keys are as they were: those in front are looked at by position.
inline void put_nat_positions_last(const array_keys& keys, spansort::key_span row, std::int64_t* order,
                                   spansort::direction d) {
  if (!keys.has_nat || d == spansort::direction::descending) return;
  const auto* const values = static_cast<const std::int64_t*>(row.data);
  std::int64_t* const end = order + row.num_keys;
  std::int64_t* const first_other = std::partition_point(
      order, end, [&](std::int64_t position) { return values[position] == std::numeric_limits<std::int64_t>::min(); });
  std::rotate(order, first_other, end);
}

/// Moves the pairs of sorted keys that are NaT behind the others.
inline void put_nat_pairs_last(const array_keys& keys, void* values, std::uint64_t value_bytes, spansort::direction d) {
  const std::uint64_t num_nats = leading_nats(keys, keys.all(), d);
  move_to_end(values, keys.memory.num_elements, value_bytes, num_nats);
  move_to_end(keys.memory.data, keys.memory.num_elements, keys.memory.element_bytes, num_nats);
}

constexpr spansort::direction direction_of(bool descending) {
  return descending ? spansort::direction::descending : spansort::direction::ascending;
}

}  // namespace python

// SPDX-License-Identifier: Apache-2.0
// Sums of keys as numbers, so defined that every device and any number of threads give the same bits: in blocks of
// fixed size, whose floats are added in a fixed order. For host and device code.
#pragma once

#include <concepts>
#include <cstdint>

#include "keys/number.hpp"
#include "spansort/types.hpp"

namespace spansort::device {

inline constexpr std::uint64_t sum_block_keys = std::uint64_t{1} << 16;
/// A block's key i is added to lane i % sum_lanes, and the lanes then one after the other, so that vectors and threads
/// can take a lane each.
inline constexpr unsigned sum_lanes = 8;

/// The sum of one block. Of integers the sum is high * 2^32 + low, exactly; of floats it is the sum of those that are
/// no NaN, in double.
struct block_sum {
  std::int64_t high = 0;
  std::uint64_t low = 0;
  double of_floats = 0;
  std::uint64_t num_numbers = 0;  ///< keys that are no NaN

  friend bool operator==(const block_sum&, const block_sum&) = default;
};

/// What one lane has added up so far.
template <class T>
struct lane_sum {
  double of_floats = 0;
  std::uint64_t num_numbers = 0;
  constexpr void add(T key) noexcept {
    const double number = keys::number_of(key);
    const bool is_number = number == number;
    of_floats += is_number ? number : 0;
    num_numbers += is_number ? 1 : 0;
  }
  constexpr void add_to(block_sum& sum) const noexcept {
    sum.of_floats += of_floats;
    sum.num_numbers += num_numbers;
  }
};

template <std::integral T>
struct lane_sum<T> {
  std::int64_t high = 0;
  std::uint64_t low = 0;
  std::uint64_t num_numbers = 0;
  constexpr void add(T key) noexcept {
    if constexpr (sizeof(T) == 8) {
      high += static_cast<std::int64_t>(key >> 32);  // rounds down, whatever the sign
      low += static_cast<std::uint64_t>(key) & 0xffffffffU;
    } else {
      high += static_cast<std::int64_t>(key);  // units: halves are made of it at the end
    }
    ++num_numbers;
  }
  constexpr void add_to(block_sum& sum) const noexcept {
    sum.num_numbers += num_numbers;
    if constexpr (sizeof(T) == 8) {
      sum.high += high;
      sum.low += low;
    } else {
      sum.high += high >> 32;
      sum.low += static_cast<std::uint64_t>(high) & 0xffffffffU;
    }
  }
};

/// One block, or less.
template <class T>
[[nodiscard]] block_sum sum_of_block(const T* keys, std::uint64_t count) noexcept {
  lane_sum<T> lanes[sum_lanes];
  std::uint64_t i = 0;
  for (; i + sum_lanes <= count; i += sum_lanes) {
    for (unsigned l = 0; l < sum_lanes; ++l) lanes[l].add(keys[i + l]);
  }
  for (unsigned l = 0; l < sum_lanes && i < count; ++l, ++i) lanes[l].add(keys[i]);
  block_sum sum;
  for (const lane_sum<T>& l : lanes) l.add_to(sum);
  return sum;
}

}  // namespace spansort::device

// SPDX-License-Identifier: Apache-2.0
// Sorts that go on behind passes over the high digits find where the keys of a bucket begin by this search.
#pragma once

#include <cstdint>

namespace spansort::device::cuda {

/// Returns the first of `num_keys` keys, in order by their encodings above `shift` bits, whose bits there are `digits`
/// at least; num_keys where there is none.
template <class K, class Order>
[[nodiscard]] __device__ __forceinline__ std::uint32_t first_of_digits(const Order& order, const K* keys,
                                                                       std::uint32_t num_keys, unsigned shift,
                                                                       K digits) {
  std::uint32_t first = 0;
  for (std::uint32_t count = num_keys; count != 0;) {
    const std::uint32_t half = count / 2;
    const bool is_before = order.encode(order.take(keys[first + half])) >> shift < digits;
    if (is_before) first += half + 1;
    count = is_before ? count - half - 1 : half;
  }
  return first;
}

}  // namespace spansort::device::cuda

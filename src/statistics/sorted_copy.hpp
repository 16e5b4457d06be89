// SPDX-License-Identifier: Apache-2.0
// Few keys cost less to sort in a copy than to look at time and again: quartiles of 2^16 f64 take 0.2 ms by two threads
// so, and 1.1 ms selected; of 2^20 it is 9 ms and 4 ms.
#pragma once

#include <cstdint>
#include <memory>

#include "base/byte_buffer.hpp"
#include "spansort/statistics.hpp"
#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

/// Returns whether the CPU looks at keys in host memory: `auto` and `cpu`.
[[nodiscard]] bool is_cpu(const device_list& devices) noexcept;

/// Returns whether a sorted copy is the best to look at: of few keys in no known order, where the CPU does the work.
[[nodiscard]] bool is_best_sorted(const const_key_span& keys, key_order order, const device_list& devices) noexcept;

/// Sorts keys in a copy, for which is_best_sorted() is meant to hold, and opens that. The mean is that of the keys in
/// the order in which they were given. Throws out_of_memory and what sort() throws.
[[nodiscard]] std::unique_ptr<ordered_keys> open_sorted_copy(const const_key_span& keys, unsigned threads);

}  // namespace spansort::statistics

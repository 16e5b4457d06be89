// SPDX-License-Identifier: Apache-2.0
// Heavy values are counted while a partition into classes reads the keys, and only the others are moved.
#pragma once

#include <cstdint>

#include "device/host/heavy_values.hpp"

namespace spansort::device::host {

/// Adds the heavy keys to `counters` (heavy_values::num_counters of them) and writes the others to `light`, in input
/// order; returns how many these are. `light` has room for all keys and 64 bytes more.
/// K is std::uint32_t or std::uint64_t; machines have this where has_vector_sort() says so.
template <class K>
[[nodiscard]] std::uint64_t filter_heavy(const heavy_values<K>& heavy, const K* keys, std::uint64_t num_keys, K* light,
                                         std::uint32_t* counters);

}  // namespace spansort::device::host

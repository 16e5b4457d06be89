// SPDX-License-Identifier: Apache-2.0
// The other way to sort data larger than the GPUs: the CPU splits the input into ranges of values that fit, and one
// trip sorts them. Here its first step alone, by the host device's own primitives.
#pragma once

#include <vector>

#include "bench/gpu/host_arrays.hpp"

namespace bench {

/// Counts the upper digit of all records at `from`, as wide as the host device splits by at full speed, and partitions
/// them to `to`, on all cores. One run more warms up.
[[nodiscard]] std::vector<double> time_split_by_value(const host_input& input, void* from, void* to, unsigned repeats);

}  // namespace bench

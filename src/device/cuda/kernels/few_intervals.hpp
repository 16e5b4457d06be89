// SPDX-License-Identifier: Apache-2.0
// Counts of keys between splitters that are the bounds of a few marked intervals, as quartiles have them.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/few_intervals_policy.hpp"

namespace spansort::device::cuda {

/// Returns whether launch_count_few_intervals takes the request: keys of 4 or 8 bytes, at least one marked interval and
/// at most most_few_intervals, and no splitter that is not one of their bounds.
[[nodiscard]] bool has_few_intervals(const interval_request& request) noexcept;

/// Does what launch_count_intervals does, for such a request.
template <class K>
void launch_count_few_intervals(const launch_site& site, const keys::codec_of<K>& codec,
                                const interval_request& request, std::uint64_t* counts);

}  // namespace spansort::device::cuda

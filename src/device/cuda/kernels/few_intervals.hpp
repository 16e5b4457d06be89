// SPDX-License-Identifier: Apache-2.0
// Counts of keys between splitters where these are the borders of a few marked intervals, as quartiles have them.
#pragma once

#include "device/cuda/kernels/request.hpp"
#include "device/cuda/tuning/few_intervals_policy.hpp"

namespace spansort::device::cuda {

/// Whether launch_count_few_intervals can do it: keys of 4 or 8 bytes, a marked interval or a few, and all splitters
/// their borders.
[[nodiscard]] bool has_few_intervals(const interval_request& request) noexcept;

/// What launch_count_intervals does, of such a request.
template <class K>
void launch_count_few_intervals(const launch_site& site, const keys::codec_of<K>& codec,
                                const interval_request& request, std::uint64_t* counts);

}  // namespace spansort::device::cuda

// SPDX-License-Identifier: Apache-2.0
// Stable merges of two sorted runs.
#pragma once

#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Keys of the left run come before equal ones of the right. The destination overlaps neither run.
template <class K>
void launch_merge(const launch_site& site, const keys::codec_of<K>& codec, const merge_request& request);

}  // namespace spansort::device::cuda

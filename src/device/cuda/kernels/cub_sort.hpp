// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort behind the interface of ours: the baseline that ours is held against, and a way round it.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Stable sort of keys that are their own encoding, in `site.cub_memory`; returns where the records end, source or
/// alternate.
template <class K, class V>
records launch_cub_sort(const launch_site& site, records source, records alternate, std::uint64_t count,
                        keys::bit_range bits);

}  // namespace spansort::device::cuda

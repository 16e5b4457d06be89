// SPDX-License-Identifier: Apache-2.0
// CUB's radix sort behind the interface of ours: the baseline that ours is held against, and a way round it.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/key_order.cuh"
#include "device/cuda/kernels/request.hpp"

namespace spansort::device::cuda {

/// Keys and values that CUB's sort is compiled for here; its kernels take long to compile.
template <class K, class V>
inline constexpr bool has_cub_sort = sizeof(K) >= 4 && value_bytes_of<V> <= 8;

/// Whether the workspace's tile states, in whose place CUB's temporary memory lies, are enough.
template <class K, class V>
[[nodiscard]] bool fits_cub_sort(const launch_site& site, std::uint64_t count, keys::bit_range bits);

/// Stable sort of keys that are their own encoding; returns where the records end, source or alternate.
template <class K, class V>
records launch_cub_sort(const launch_site& site, records source, records alternate, std::uint64_t count,
                        keys::bit_range bits);

}  // namespace spansort::device::cuda

// SPDX-License-Identifier: Apache-2.0
// All kernels of the segmented sort are given the same arguments, and share these steps.
#pragma once

#include <cstdint>

#include "device/cuda/kernels/chip_tile.cuh"
#include "device/cuda/kernels/segment_items.cuh"
#include "device/cuda/kernels/segment_memory.hpp"

namespace spansort::device::cuda {

inline constexpr bool compiles_segmented_sort = has_segmented_sort(compiled_family);

/// Positions in device memory, or rows.
struct device_bounds {
  const std::uint32_t* narrow = nullptr;
  const std::uint64_t* wide = nullptr;
  std::uint64_t row_length = 0;
  std::uint64_t num_segments = 0;

  /// `boundary` is at most num_segments.
  [[nodiscard]] __device__ __forceinline__ std::uint64_t at(std::uint64_t boundary) const {
    if (wide != nullptr) return wide[boundary];
    return narrow != nullptr ? narrow[boundary] : boundary * row_length;
  }
};

template <class K>
struct segment_arguments {
  keys::codec_of<K> codec;
  const K* keys = nullptr;
  K* to_keys = nullptr;  ///< `keys`, or null where keys stay as they are
  const void* values = nullptr;
  void* to_values = nullptr;
  unsigned value_bytes = 0;
  unsigned index_bytes = 0;  ///< where it is not 0, places within the segment are written to `to_values`
  std::uint32_t num_keys = 0;
  device_bounds bounds;
  segment_memory memory;
  msd_limits limits;
};

/// Writes a place as an index.
__device__ __forceinline__ void store_index(void* to, unsigned index_bytes, std::uint64_t at, unsigned place) {
  if (index_bytes == 4) {
    store_global(static_cast<std::uint32_t*>(to) + at, place);
  } else {
    store_global(static_cast<std::uint64_t*>(to) + at, std::uint64_t{place});
  }
}

/// Begins a copy of a key to shared memory. Keys that are too narrow for that are loaded.
template <class K>
__device__ __forceinline__ void begin_key_copy(K* to, const K* from) {
  if constexpr (sizeof(K) >= 4) {
    begin_copy(to, from);
  } else {
    *to = *from;
  }
}

/// Calls f(values), typed as they move, where there are values.
template <class F>
__device__ __forceinline__ void for_value_words(const void* values, unsigned value_bytes, F&& f) {
  if (value_bytes == 4) {
    f(static_cast<const value4*>(values));
  } else if (value_bytes == 8) {
    f(static_cast<const value8*>(values));
  } else if (value_bytes != 0) {
    f(static_cast<const value16*>(values));
  }
}

}  // namespace spansort::device::cuda

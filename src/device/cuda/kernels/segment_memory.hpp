// SPDX-License-Identifier: Apache-2.0
// The kernels of the segmented sort tell each other of the segments' classes through this device memory, and all of it
// is made on the device: no step waits for the host.
#pragma once

#include "device/cuda/kernels/msd_memory.hpp"
#include "device/cuda/tuning/segmented_policy.hpp"

namespace spansort::device::cuda {

/// A segment that a warp sorts.
struct alignas(8) listed_segment {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

/// Counters, which are zeroed before.
struct segment_control {
  std::uint32_t num_listed[num_warp_classes] = {};
  std::uint32_t num_whole[num_finish_sizes] = {};  ///< jobs that are segments: the first of each size
  unsigned long long num_large_keys = 0;           ///< of all segments that are partitioned
};

/// Device memory of one segmented sort.
struct segment_memory {
  segment_control* control = nullptr;
  listed_segment* listed[num_warp_classes] = {};
  std::uint32_t most_listed[num_warp_classes] = {};
  std::uint32_t most_jobs[num_finish_sizes] = {};  ///< that segments make, beside those of partitions
  msd_memory msd;
  std::uint64_t size_bytes = 0;

  /// Bytes of both controls, from `control` on.
  static constexpr std::uint64_t zeroed_bytes = 256 + sizeof(msd_control);
  static_assert(sizeof(segment_control) <= 256);

  /// Lays the memory out for so many records and segments; with `memory` null it only tells the size.
  [[nodiscard]] static segment_memory in(void* memory, std::uint64_t num_keys, std::uint64_t num_segments,
                                         const msd_limits& limits) noexcept {
    std::uint64_t at = 0;
    const auto take = [&](std::uint64_t bytes) {
      char* const taken = memory == nullptr ? nullptr : static_cast<char*>(memory) + at;
      at += base::ceil_div(bytes, std::uint64_t{256}) * 256;
      return taken;
    };
    // Segments do not overlap, so that each of a class takes at least its least length of the keys.
    const auto most_longer_than = [&](std::uint64_t length) {
      return static_cast<std::uint32_t>(std::min(num_segments, num_keys / (length + 1)));
    };
    segment_memory m;
    for (unsigned c = 0; c < num_warp_classes; ++c) {
      m.most_listed[c] = most_longer_than(least_keys_of_class(c) - 1);
      m.listed[c] = reinterpret_cast<listed_segment*>(take(m.most_listed[c] * sizeof(listed_segment)));
    }
    std::uint32_t of_segments = 0;
    for (unsigned i = 0; i < num_finish_sizes; ++i) {
      m.most_jobs[i] = most_longer_than(i == 0 ? most_warp_keys : limits.finish_keys[i - 1]);
      of_segments = std::max(of_segments, m.most_jobs[i]);
    }
    // The counters of both lie side by side, and are zeroed together.
    m.control = reinterpret_cast<segment_control*>(take(sizeof(segment_control)));
    m.msd =
        msd_memory::in(memory == nullptr ? nullptr : static_cast<char*>(memory) + at, num_keys, limits, of_segments);
    m.size_bytes = at + m.msd.size_bytes;
    return m;
  }
};

}  // namespace spansort::device::cuda

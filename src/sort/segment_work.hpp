// SPDX-License-Identifier: Apache-2.0
// Sorts of segments on the CPU: tasks of neighbouring small segments with about the same work each, large segments a
// thread each, and the largest on all threads one after the other.
#pragma once

#include <cstdint>
#include <vector>

#include "device/device.hpp"
#include "device/segment_bounds.hpp"
#include "sort/segments.hpp"

namespace spansort::sorting {

/// The arrays of a segmented sort. `is_order`: the values are indices to be written, and keys stay as they are.
struct segments_call {
  device::record_shape shape;
  device::records data;
  device::segment_bounds bounds;
  bool is_order = false;

  [[nodiscard]] std::uint64_t num_keys() const noexcept { return bounds.at(bounds.num_segments()) - bounds.at(0); }
};

/// Returns the number of keys of the largest segments that one thread sorts in scratch that it keeps.
[[nodiscard]] std::uint64_t most_small_keys(const device::record_shape& shape, bool is_order);

/// Sorts the segments with the threads of the calling arena, which are those that the option `threads` means; `large`
/// are those of more than most_small_keys(). Throws std::bad_alloc and out_of_memory with each segment sorted or
/// untouched.
void sort_segments_on_cpu(const segments_call& call, const std::vector<large_segment>& large, unsigned threads);

/// Returns the bytes that such a sort may take beside the arrays.
[[nodiscard]] std::uint64_t segments_memory_bytes(const segments_call& call, const std::vector<large_segment>& large,
                                                  unsigned threads);

}  // namespace spansort::sorting

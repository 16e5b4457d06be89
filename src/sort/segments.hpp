// SPDX-License-Identifier: Apache-2.0
// Segments of host memory before they are sorted: what was asked for is checked in one read of the offsets, which also
// finds those that are too large for one thread's small sorts.
#pragma once

#include <cstdint>
#include <vector>

#include "device/segment_bounds.hpp"
#include "spansort/types.hpp"

namespace spansort::sorting {

/// Returns the bounds that `offsets` state. Throws invalid_argument for types that are no offsets and for no offset at
/// all; the offsets themselves are not looked at.
[[nodiscard]] device::segment_bounds bounds_of_offsets(const_key_span offsets);

/// Returns the largest offset of a type that is a position of `num_keys` keys.
[[nodiscard]] std::uint64_t most_offset(key_type type, std::uint64_t num_keys);

/// Returns rows of `row_length` keys. Throws invalid_argument where `num_keys` is no multiple of it.
[[nodiscard]] device::segment_bounds bounds_of_rows(std::uint64_t row_length, std::uint64_t num_keys);

/// A segment that is not sorted with its neighbours.
struct large_segment {
  std::uint64_t begin = 0;
  std::uint64_t num_keys = 0;
};

/// Throws invalid_argument, naming the first that is wrong, unless the bounds never decrease and end within `num_keys`.
/// Returns the segments of more than `most_small` keys, in order. Reads with the threads of the calling arena.
[[nodiscard]] std::vector<large_segment> check_segments(const device::segment_bounds& bounds, std::uint64_t num_keys,
                                                        std::uint64_t most_small);

}  // namespace spansort::sorting

// SPDX-License-Identifier: Apache-2.0
// Order, count, duplicates and checksum of an input of any size, in the memory of one chunk.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "files/external/element_order.hpp"
#include "files/external/element_stream.hpp"
#include "spansort/check.hpp"

namespace spansort::external {

/// Looks at `count` elements. `has_left`: their left neighbour lies before them, and takes part as a neighbour only.
/// The result's indices count from `elements`, its checksum and counts are those of the `count` elements.
using chunk_check = std::function<check_result(const std::byte* elements, std::uint64_t count, bool has_left)>;

struct elements_check {
  check_result whole;
  /// The first element that is out of order, and its left neighbour; both empty when all are in order.
  std::vector<std::byte> disordered;
  std::vector<std::byte> left_neighbour;
};

/// Reads `source` to its end, `chunk_elements` (at least 1) at a time. Memory: one element more than that. Throws what
/// the source and `check_chunk` throw.
[[nodiscard]] elements_check check_elements(element_source& source, std::uint64_t element_bytes,
                                            std::uint64_t chunk_elements, const chunk_check& check_chunk);

/// Returns what an order says of a chunk.
[[nodiscard]] chunk_check check_of(const element_order& order, bool unique);

}  // namespace spansort::external

// SPDX-License-Identifier: Apache-2.0
// Keys counted between edges as the numbers that they are: one read without bounds, copies or a sort. Few keys between
// a hundred edges take so less time than the bounds of the edges among all keys.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "spansort/types.hpp"

namespace spansort::statistics {

/// Returns whether edges are about equally far apart: where a key lies among such is reckoned, not looked up.
[[nodiscard]] bool are_even(std::span<const double> edges) noexcept;

/// Returns how many keys lie between each two neighbours of edges that require_edges() lets pass. Memory: 8 bytes an
/// edge, and as many again for each thread where there are so many keys that others help. Blocks.
[[nodiscard]] std::vector<std::uint64_t> count_between(const const_key_span& keys, std::span<const double> edges,
                                                       bool edges_are_even);

}  // namespace spansort::statistics

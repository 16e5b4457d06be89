// SPDX-License-Identifier: Apache-2.0
// The two steps of a take: are the indices good, and the copying.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "spansort/types.hpp"

namespace spansort::sorting {

/// Throws invalid_argument for indices that are no integers of 32 or 64 bits.
void require_index_type(key_type type);

/// Returns the position of the first index that is negative or not below `num_elements`.
[[nodiscard]] std::optional<std::uint64_t> first_bad_index(const_key_span indices, std::uint64_t num_elements);

/// Returns what is wrong with an index: "index -1 at position 5 is negative". `first`: of the indices' positions.
[[nodiscard]] std::string bad_index_text(const_key_span indices, std::uint64_t at, std::uint64_t first,
                                         std::uint64_t num_elements);

/// Copies, with good indices.
void gather_elements(const void* elements, std::uint64_t element_bytes, const_key_span indices, void* destination);

}  // namespace spansort::sorting

// SPDX-License-Identifier: Apache-2.0
// Checks of rows that are sorted each by itself, on all threads.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "spansort/check.hpp"
#include "spansort/types.hpp"

namespace spansort::files {

/// `keys` are rows of `row_keys` keys, at least 1, one after the other.
[[nodiscard]] std::vector<multiset_checksum> checksums_of_rows(const const_key_span& keys, std::uint64_t row_keys);

/// Returns the first key that comes before its left neighbour in its row, or with `unique` equals it in value.
[[nodiscard]] std::optional<std::uint64_t> first_row_disorder(const const_key_span& keys, std::uint64_t row_keys,
                                                              direction d, bool unique);

/// Returns whether `indices` are the stable order of each row, from 0 on.
[[nodiscard]] bool is_order_of_rows(const const_key_span& keys, std::uint64_t row_keys, direction d,
                                    const std::uint64_t* indices);

/// Returns how many keys equal their left neighbour in the row.
[[nodiscard]] std::uint64_t num_row_duplicates(const const_key_span& keys, std::uint64_t row_keys, direction d);

}  // namespace spansort::files

// SPDX-License-Identifier: Apache-2.0
// Parts of a table: how many bytes rows take, slices of them, and strings by views that keep no bytes but their own.
#pragma once

#include <cstdint>
#include <span>

#include "table/arrow_rows.hpp"

namespace spansort::table {

/// Bytes of the rows' values, offsets and null bits, without dictionaries. Views count with the bytes that they name.
[[nodiscard]] std::uint64_t bytes_of(const arrow_rows& rows);

/// Returns what bytes_of(take_rows(rows, chosen)) would be.
[[nodiscard]] std::uint64_t bytes_of(const arrow_rows& rows, std::span<const std::uint64_t> chosen);

/// Returns rows from `first` on, which stay where they are.
[[nodiscard]] arrow_rows slice(const arrow_rows& rows, std::uint64_t first, std::uint64_t num_rows);

/// Returns a column's null bits, from bit 0 on; nothing where it has none.
[[nodiscard]] base::byte_buffer copied_validity(const column_data& column);

/// Copies the strings that lie as views out of the memory that others share, into one piece a column. The bytes of a
/// column are fewer than 2 GiB.
void own_views(arrow_rows& rows);

/// Returns the first rows in the order of `order`, about `target_bytes` of them, at most twice that or one row. Their
/// number is that of the result. `average_bytes` of a row.
[[nodiscard]] arrow_rows take_about(const arrow_rows& from, std::span<const std::uint64_t> order,
                                    std::uint64_t target_bytes, double average_bytes);

}  // namespace spansort::table

// SPDX-License-Identifier: Apache-2.0
// Tables that are nothing but their key: values that are equal are the same bytes, so that a sort of the values alone
// gives the rows in order, without an order of rows that is found and a copy that follows it.
#pragma once

#include <cstddef>
#include <optional>

#include "spansort/options.hpp"
#include "table/arrow_rows.hpp"

namespace spansort::table {

/// Returns where the values of a column of numbers begin, at any alignment.
[[nodiscard]] const std::byte* values_of(const column_data& column);
/// Returns whether a column holds numbers that can be ordered by, as they are.
[[nodiscard]] bool holds_numbers(const column_data& column);
/// Returns whether equal values of a column of numbers are the same bytes: none is null, a NaN or -0.0. Reads it all.
[[nodiscard]] bool tells_its_bits(const column_data& column);

/// Returns the rows of a table of one column in its order; none where the values alone do not tell it: where there are
/// nulls, values that are no numbers, and floats among which there is a NaN or a -0.0, which tie and differ. Reads the
/// column once; takes the copy that it returns, and the workspace of sort(). Throws what that throws.
[[nodiscard]] std::optional<arrow_rows> sort_alone(const arrow_rows& table, direction d, const sort_options& options);

}  // namespace spansort::table

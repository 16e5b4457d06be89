// SPDX-License-Identifier: Apache-2.0
// Tables that are nothing but their key: values that are equal are the same bytes, so that a sort of the values alone
// gives the rows in order, without an order of rows that is found and a copy that follows it.
#pragma once

#include <optional>

#include "spansort/options.hpp"
#include "table/arrow_rows.hpp"

namespace spansort::table {

/// Returns the rows of a table of one column in its order; none where the values alone do not tell it: where there are
/// nulls, values that are no numbers, and floats among which there is a NaN or a -0.0, which tie and differ. Reads the
/// column once; takes the copy that it returns, and the workspace of sort(). Throws what that throws.
[[nodiscard]] std::optional<arrow_rows> sort_alone(const arrow_rows& table, direction d, const sort_options& options);

}  // namespace spansort::table

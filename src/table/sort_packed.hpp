// SPDX-License-Identifier: Apache-2.0
// Tables all of whose columns are keys: rows that are equal are the same bytes, so that rows packed into a number each
// are sorted as keys alone, and unpacked. No order of rows is found, and no copy follows it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "base/call_watch.hpp"
#include "spansort/options.hpp"
#include "spansort/table.hpp"
#include "table/arrow_rows.hpp"

namespace spansort::table {

/// A column of a table by its number.
struct numbered_key {
  std::uint64_t column = 0;
  direction order = direction::ascending;
};

/// Returns the rows of a table of several columns in the order of `by`; none where it has fewer (sort_alone() sorts
/// one), where a column is no key or has something else than numbers whose values tell their bits (no nulls, no
/// NaN, no -0.0), and where a row needs more than 64 bits. Reads a column up to three times before it knows: for
/// nulls, for values that tie, and for the range of the others. Takes 4 or 8 bytes a row, the workspace of sort(),
/// and the copy that it returns. `options` are those of the sort; `unpacking` is asked behind it. Throws what
/// sort() throws.
[[nodiscard]] std::optional<arrow_rows> sort_packed(const arrow_rows& table, std::span<const numbered_key> by,
                                                    const sort_options& options, const base::call_watch& unpacking);

}  // namespace spansort::table

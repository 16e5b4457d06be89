// SPDX-License-Identifier: Apache-2.0
// The refusal of columns that are none, before any of their values is read.
#pragma once

#include <cstdint>

#include "spansort/table.hpp"

namespace spansort::table {

/// Throws invalid_argument.
void check_column(const column_span& column, std::uint64_t num_rows);
void check_order(const column_order& order);

}  // namespace spansort::table

// SPDX-License-Identifier: Apache-2.0
// Many rows, each sorted by itself: short ones by all threads in blocks of rows, long ones one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <spansort/options.hpp>

#include "arrays.hpp"

namespace python {

/// Sorts the row of an index. Called by several threads at once for different rows.
using row_work = std::function<void(std::uint64_t row, const spansort::sort_options& options)>;

/// Calls work for every row. options.on_progress is asked between rows, and by long rows themselves; where it says no,
/// or work throws, the rows that were begun are finished and the others are left. Throws what work throws, and
/// spansort::cancelled.
void for_all_rows(const array_memory& memory, const spansort::sort_options& options, const row_work& work);

}  // namespace python

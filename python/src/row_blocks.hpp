// SPDX-License-Identifier: Apache-2.0
// Many rows, each sorted by itself: short ones, and longer ones where there are many, are sorted by all threads in
// blocks of rows, the others and those for devices one after the other by one sorter.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <spansort/options.hpp>
#include <spansort/sort.hpp>

#include "arrays.hpp"

namespace python {

/// Sorts one row after another, by one thread: each by a call of its own, or all by a sorter, which opens devices and
/// takes workspace once for all rows.
class row_sorts {
 public:
  /// `options` outlive the object.
  row_sorts(const spansort::sort_options& options, bool by_one_sorter) : options_(options) {
    if (by_one_sorter) sorter_.emplace(options);
  }

  void sort(spansort::key_span row, spansort::direction d) {
    sorter_ ? sorter_->sort(row, d) : spansort::sort(row, d, options_);
  }
  void argsort(spansort::const_key_span row, std::int64_t* order, spansort::direction d) {
    sorter_ ? sorter_->argsort(row, order, sizeof(*order), d)
            : spansort::argsort(row, order, sizeof(*order), d, options_);
  }

 private:
  const spansort::sort_options& options_;
  std::optional<spansort::sorter> sorter_;
};

/// Sorts the row of an index. Called by several threads at once for different rows, each with sorts of its own.
using row_work = std::function<void(std::uint64_t row, row_sorts& sorts)>;

/// Calls work for every row. options.on_progress is asked between rows, and by long rows themselves; where it says no,
/// or work throws, the rows that were begun are finished and the others are left. Throws what work throws, and
/// spansort::cancelled.
void for_all_rows(const array_memory& memory, const spansort::sort_options& options, const row_work& work);

}  // namespace python

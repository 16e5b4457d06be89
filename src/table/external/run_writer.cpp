// SPDX-License-Identifier: Apache-2.0
#include "table/external/run_writer.hpp"

#include <utility>

#include "table/external/row_parts.hpp"

namespace spansort::table {

void run_writer::add(const arrow_rows& rows) {
  constexpr std::size_t most_parts = 512;
  constexpr std::uint64_t first_row = 0;
  run_.blocks.push_back(spill_.write(rows));
  heads_.push_back(take_rows(order_.keys_of(rows), {&first_row, 1}));
  own_views(heads_.back());
  if (heads_.size() == most_parts) heads_ = {join(heads_)};  // a row by itself takes more memory than its values
}

spilled_run run_writer::finish() {
  spill_.flush();
  run_.heads = join(heads_);
  heads_.clear();
  return std::exchange(run_, {});
}

}  // namespace spansort::table

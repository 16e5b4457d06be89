// SPDX-License-Identifier: Apache-2.0
// One rank's memory as a row of boxes, as in Figure 1 of the RMG paper: widths follow the counts, neighbours that are
// too narrow for their names share a box.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace spansort::plan {

/// A bucket's part in the row.
struct piece {
  std::string name;
  std::uint64_t count = 0;
  bool spans = false;  ///< drawn hatched
};

/// "|[0]      |[1]..[3] |", exactly `num_columns` wide; "|" where there is nothing to draw.
[[nodiscard]] std::string draw_boxes(const std::vector<piece>& pieces, std::size_t num_columns);

}  // namespace spansort::plan

// SPDX-License-Identifier: Apache-2.0
// The picture of a summary: a box plot above a histogram on one axis.
#pragma once

#include <vector>

#include "cli/canvas.hpp"
#include "cli/summary_view.hpp"

namespace cli {

/// Cells of the axis for whose outliers there is room.
inline constexpr unsigned num_picture_cells = 360;

[[nodiscard]] drawing draw_summary(const key_summary& summary, const picture_data& data,
                                   const std::vector<outlier_mark>& outliers);

}  // namespace cli

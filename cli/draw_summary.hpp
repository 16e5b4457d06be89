// SPDX-License-Identifier: Apache-2.0
// The picture of a summary: a box plot above a histogram on one axis, as SVG or PNG. cli/cairo draws it, where the
// build has cairo; cli/no_cairo says that it has not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/summary_view.hpp"

namespace cli {

enum class picture_format : std::uint8_t { svg, png };

/// Throws invalid_argument where this build cannot draw.
void require_drawing();

/// Cells of the axis for whose outliers there is room.
inline constexpr unsigned num_picture_cells = 360;

/// The bytes of the file. Text is drawn as outlines, so that the picture is the same wherever it is shown.
[[nodiscard]] std::string draw_summary(const key_summary& summary, const picture_data& data,
                                       const std::vector<outlier_mark>& outliers, picture_format format);

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
// Drawings as SVG, which takes no library.
#pragma once

#include <string>

#include "cli/canvas.hpp"

namespace cli {

/// The bytes of the file, which depend on the drawing alone. Text stays text, to be found and copied; where DejaVu Sans
/// is not installed, the viewer takes another font.
[[nodiscard]] std::string to_svg(const drawing& picture);

}  // namespace cli

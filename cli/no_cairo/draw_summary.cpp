// SPDX-License-Identifier: Apache-2.0
// Builds without cairo: --plot is refused before anything is read.
#include "cli/draw_summary.hpp"

#include "spansort/errors.hpp"

namespace cli {

void require_drawing() {
  throw spansort::invalid_argument(
      "--plot: this spansort was built without cairo and cannot draw; install libcairo2-dev and build it again, or "
      "draw "
      "what --json writes with matplotlib's Axes.bxp");
}

std::string draw_summary(const key_summary&, const picture_data&, const std::vector<outlier_mark>&, picture_format) {
  require_drawing();
  return {};
}

}  // namespace cli

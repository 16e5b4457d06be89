// SPDX-License-Identifier: Apache-2.0
// The quantiles that a user asks for by -q, and how a table names them.
#pragma once

#include <string>
#include <vector>

namespace cli {

/// Quantiles that are shown without being asked for.
[[nodiscard]] inline std::vector<double> default_quantiles() { return {0.95, 0.99}; }

/// Returns the q of "0.95,99.9%": numbers from 0 to 1, or percentages from 0 to 100, between commas. Throws
/// invalid_argument, which names -q.
[[nodiscard]] std::vector<double> parse_quantiles(const std::string& text);

/// Returns "95", "99.9": the number of q in percent.
[[nodiscard]] std::string percent_text(double q);

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
// The summary as JSON: an object that matplotlib's Axes.bxp takes, with more beside.
#pragma once

#include <optional>
#include <string>

#include "cli/summary_view.hpp"

namespace cli {

/// matplotlib's keys: label, mean, iqr, cilo, cihi, whishi, whislo, fliers, q1, med, q3. Ours: count, num_nans, min,
/// max, fences, quantiles under other names, numbers of outliers, fliers_complete, histogram (null where there is
/// none). Doubles are written so that they read back as they are; NaN and infinities, which JSON does not have, as
/// null.
[[nodiscard]] std::string summary_json(const key_summary& summary, const std::optional<picture_data>& picture);

}  // namespace cli

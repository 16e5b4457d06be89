// SPDX-License-Identifier: Apache-2.0
// Order statistics of keys wherever they lie: what the public functions of statistics.hpp and top_k.hpp, and those of
// resident keys, have in common.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "spansort/statistics.hpp"
#include "statistics/ordered_keys.hpp"

namespace spansort::statistics {

[[nodiscard]] std::vector<double> quantiles_of(const ordered_keys& keys, std::span<const double> q,
                                               const quantile_options& options);
[[nodiscard]] summary summary_of(const ordered_keys& keys, const summary_options& options);
/// Throws invalid_argument for fewer than two edges, and edges that fall or are NaN.
void require_edges(std::span<const double> edges);
/// Returns how many keys lie between each two neighbours of edges that require_edges() lets pass.
[[nodiscard]] std::vector<std::uint64_t> histogram_of(const ordered_keys& keys, std::span<const double> edges);
/// `value_bits`: a key as it is.
[[nodiscard]] key_rank rank_in(const ordered_keys& keys, std::uint64_t value_bits);
/// Returns how many keys answer for the first `k`, under a policy on NaN.
[[nodiscard]] std::uint64_t num_firsts(const ordered_keys& keys, std::uint64_t k, nan_policy nans);

}  // namespace spansort::statistics

// SPDX-License-Identifier: Apache-2.0
// Keys of which a summary is made: those in this process's memory, or a cluster's, of which each node rank has a share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace cli {

/// A type, a number of keys, and the library's questions to them.
struct key_source {
  key_source() = default;
  /// Makes a source of keys in this process's memory, which must stay where they are.
  key_source(spansort::const_key_span keys);  // NOLINT(google-explicit-constructor): a span is one

  spansort::key_type type = spansort::key_type::u8;
  std::uint64_t num_keys = 0;  ///< all of them
  std::function<spansort::summary(const spansort::summary_options&)> summarize;
  std::function<std::vector<double>(std::span<const double> q, const spansort::quantile_options&)> quantiles;
  std::function<std::vector<std::uint64_t>(std::span<const double> edges, const spansort::count_options&)>
      histogram;
};

}  // namespace cli

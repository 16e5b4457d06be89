// SPDX-License-Identifier: Apache-2.0
// Keys of which a summary is made: those in this process's memory, a file's of any size, or a cluster's, of which each
// node rank has a share.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "spansort/file_statistics.hpp"
#include "spansort/statistics.hpp"
#include "spansort/types.hpp"

namespace cli {

/// A type, a number of keys, and the library's questions to them.
struct key_source {
  key_source() = default;
  /// Makes a source of keys in this process's memory, which must stay where they are.
  key_source(spansort::const_key_span keys);  // NOLINT(google-explicit-constructor): a span is one
  /// Makes a source of a file's keys, held or not; `keys` outlives it.
  explicit key_source(spansort::file_statistics& keys);

  spansort::key_type type = spansort::key_type::u8;
  std::uint64_t num_keys = 0;  ///< all of them
  std::function<spansort::summary(const spansort::summary_options&)> summarize;
  std::function<std::vector<double>(std::span<const double> q, const spansort::quantile_options&)> quantiles;
  std::function<std::vector<std::uint64_t>(std::span<const double> edges, const spansort::count_options&)> histogram;
  /// Tell what will be asked for, so that few reads find all of it; empty where that is of no use.
  std::function<void(std::span<const double> q)> expect_quantiles;
  std::function<void(std::span<const double> edges)> prepare_edges;
};

}  // namespace cli
